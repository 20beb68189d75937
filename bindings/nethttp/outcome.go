package nethttp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/internal/guards"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/reducer"
)

// StatusError is an answer that the policy's outcomes do not count as good, as
// it stands in the errors of later attempts. The answer itself is gone.
type StatusError struct {
	StatusCode int
	// GRPC is the status code of an answer of gRPC, 0 for another answer.
	GRPC int
}

// Error implements error.
func (e *StatusError) Error() string {
	if e.GRPC != 0 {
		return "gRPC " + strconv.Itoa(e.GRPC) + " " + grpcNames[e.GRPC]
	}
	return "HTTP " + strconv.Itoa(e.StatusCode) + " " + http.StatusText(e.StatusCode)
}

// outcomeOfError returns what an error of a round tripper means. The errors of
// net/http that name a mistake of the caller have no type of their own.
func outcomeOfError(o *policy.Outcomes, err error) reducer.Outcome {
	text := err.Error()
	for _, mistake := range []string{"unsupported protocol scheme", "net/http: invalid", "http: nil Request", "http: no Host"} {
		if strings.HasPrefix(text, mistake) {
			return reducer.Ignore
		}
	}
	if isCertificate(err) {
		return reducer.Ignore
	}
	return o.OfFailure(failureOf(err))
}

// isCertificate reports whether an error says that the certificate of the server was not
// verified: another attempt gets the same one.
func isCertificate(err error) bool {
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &certificate) || errors.As(err, &authority) || errors.As(err, &hostname) || errors.As(err, &invalid)
}

// failureOf names an error of the network. An answer that never came, for
// whatever reason that is not another's, is a reset.
func failureOf(err error) policy.Failure {
	var op *net.OpError
	var dns *net.DNSError
	var alert tls.AlertError
	var header tls.RecordHeaderError
	switch {
	case errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect" || op.Op == "socks connect"),
		errors.As(err, &dns), errors.As(err, &alert), errors.As(err, &header), isCertificate(err),
		strings.HasSuffix(err.Error(), "TLS handshake timeout"):
		return document.Connect
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return document.NoAnswer
	}
	return document.Reset
}

// retryAfter reads the Retry-After of an answer.
func retryAfter(h http.Header, now func() time.Time) (time.Duration, bool) {
	return guards.RetryAfter(h.Get("Retry-After"), h.Get("Date"), now)
}
