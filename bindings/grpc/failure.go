package sluicegrpc

import (
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sluice-go/sluice/internal/guards"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/reducer"
)

// noFailure is the failure of an attempt that the service answered.
const noFailure policy.Failure = ""

// failureOf names the failure of the network that ended an attempt of a client. answered
// says that metadata of the service came, connected that the attempt was sent.
//
// gRPC has no errors for these failures: it makes statuses of them, which the service can
// send, too, but not without metadata.
func failureOf(err error, answered, connected bool) policy.Failure {
	switch code := status.Code(err); {
	case answered:
		return noFailure
	case code == codes.DeadlineExceeded:
		return document.NoAnswer
	case code != codes.Unavailable:
		return noFailure
	case connected:
		return document.Reset
	}
	return document.Connect
}

// statusOf returns the HTTP status that a failure of the network stands for where no class
// of `outcomes` names it.
func statusOf(f policy.Failure) int {
	if f == document.NoAnswer {
		return http.StatusGatewayTimeout
	}
	return http.StatusServiceUnavailable
}

// parts reports whether a failure of the network has another outcome than its status.
func parts(o *policy.Outcomes, f policy.Failure) bool {
	own := o.OfFailure(f)
	return own != reducer.OK && own != o.OfStatus(statusOf(f))
}

// failuresOf returns the failures of the network that have other outcomes than their
// statuses.
func failuresOf(o *policy.Outcomes) (list []policy.Failure) {
	for _, f := range [...]policy.Failure{document.Connect, document.Reset, document.NoAnswer} {
		if parts(o, f) {
			list = append(list, f)
		}
	}
	return list
}

// parts reports whether a failure of the network has another outcome for a pipeline than
// its status. A list of none costs nothing.
func (s *settings) parts(g *guard) bool {
	return len(failuresOf(guards.Outcomes(s.outcomes, g.pipeline))) > 0
}
