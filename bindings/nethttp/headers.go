package nethttp

import (
	"fmt"
	"net/http"

	"github.com/sluice-go/sluice/internal/guards"
)

// HeaderLimits bound the headers of a request or of an answer. The server and the transport
// of net/http have bounds of their own, http.Server.MaxHeaderBytes and
// http.Transport.MaxResponseHeaderBytes, which are 1 MiB and 10 MiB where they are not set, and
// none of the number of fields: set them as well, since they hold while the headers are read.
type HeaderLimits struct {
	// Bytes of the first line and all fields, as HTTP/1.1 writes them, whatever the
	// compression of HTTP/2 made of them. 0: no bound.
	Bytes int
	// Fields is how many lines there may be. 0: no bound.
	Fields int
}

// WithHeaderLimits answers a request with more headers with 431, before the policy is asked.
// Default: no bounds. Handler and Transport.Proxy alone.
func WithHeaderLimits(most HeaderLimits) Option {
	return func(s *settings) { s.headers = most }
}

// WithAnswerHeaderLimits makes an answer with more headers an error, which counts as an
// answer that broke off. Default: no bounds. Transport alone.
func WithAnswerHeaderLimits(most HeaderLimits) Option {
	return func(s *settings) { s.answerHeaders = most }
}

// exceeds reports what of the limits is exceeded, empty for nothing.
func (l *HeaderLimits) exceeds(bytes, fields int) string {
	switch {
	case l.Bytes > 0 && bytes > l.Bytes:
		return fmt.Sprintf("%d bytes of headers; allowed: %d", bytes, l.Bytes)
	case l.Fields > 0 && fields > l.Fields:
		return fmt.Sprintf("%d header fields; allowed: %d", fields, l.Fields)
	}
	return ""
}

// checkRequest returns why a request is refused for its headers, nil where it is not.
func (l *HeaderLimits) checkRequest(r *http.Request) error {
	if l.Bytes <= 0 && l.Fields <= 0 {
		return nil
	}
	return l.refuses(r)
}

// refuses is checkRequest where there are limits.
func (l *HeaderLimits) refuses(r *http.Request) error {
	if found := l.exceeds(guards.RequestSize(r)); found != "" {
		return &RequestError{Status: http.StatusRequestHeaderFieldsTooLarge, Reason: "headers", Detail: "The request has " + found + "."}
	}
	return nil
}

// checkAnswer returns why an answer is none for its headers.
func (l *HeaderLimits) checkAnswer(resp *http.Response) error {
	if l.Bytes <= 0 && l.Fields <= 0 {
		return nil
	}
	if found := l.exceeds(guards.HeaderSize(resp.Header)); found != "" {
		return fmt.Errorf("nethttp: the answer has %s", found)
	}
	return nil
}
