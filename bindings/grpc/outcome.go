package sluicegrpc

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/internal/guards"
	"github.com/sluice-go/sluice/internal/refusals"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
)

// The keys of metadata in which refusals say why and when to come back (gRFC A6 for the
// first).
const (
	pushbackKey = "grpc-retry-pushback-ms"
	reasonKey   = "x-throttle-reason"
	limitKey    = "ratelimit"
	policyField = "ratelimit-policy"
	// Of proxies, which answer with fields of HTTP.
	retryAfterKey = "retry-after"
	dateKey       = "date"
)

// replyError is a reply that WithOutcome does not count as a success, as it is in the
// errors of later attempts.
type replyError struct{ outcome reducer.Outcome }

func (e *replyError) Error() string { return fmt.Sprintf("sluicegrpc: the reply means %s", e.outcome) }

// outcomeOf returns what the end of a call means. why is the failure of the network that
// ended it.
func (s *settings) outcomeOf(g *guard, c *Call, reply any, err error, why policy.Failure) reducer.Outcome {
	_, http := refusals.HTTPOfGRPC(strconv.Itoa(int(status.Code(err))))
	of := guards.Outcomes(s.outcomes, g.pipeline)
	outcome := of.OfStatus(http)
	if why != noFailure && parts(of, why) {
		outcome = of.OfFailure(why)
	}
	if s.outcome == nil {
		return outcome
	}
	if err != nil {
		reply = nil
	}
	return guards.Asked(s.outcome(c, reply, err, outcome), outcome)
}

// retryAfter returns the delay that a failure asks for: the pushback in its
// trailer, else the RetryInfo of its status, else retry-after in its
// trailer, which proxies of HTTP write.
func retryAfter(err error, trailer metadata.MD) (after time.Duration, ok bool) {
	if values := trailer[pushbackKey]; len(values) > 0 {
		return refusals.GRPCPushback(values[0]), true
	}
	if st, ok := status.FromError(err); ok {
		for _, detail := range st.Details() {
			if info, ok := detail.(*errdetails.RetryInfo); ok {
				return max(0, info.RetryDelay.AsDuration()), true
			}
		}
	}
	return guards.RetryAfter(first(trailer[retryAfterKey]), first(trailer[dateKey]), time.Now)
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// obeyed returns the delay that a failure asks for where a breaker of the policy obeys it, 0
// for none.
func (g *guard) obeyed(o reducer.Outcome, err error, trailer metadata.MD) time.Duration {
	if err == nil || !fallback.Covers(o) || !g.view().Obeys {
		return 0
	}
	after, _ := retryAfter(err, trailer)
	return after
}

// judge gives the end of an attempt whose context has not ended its meaning, nil for a
// success.
func (s *settings) judge(g *guard, c *Call, x *exchange) error {
	err := x.err
	e := &guards.AttemptError{Err: err}
	var inner *sluice.RejectedError
	if errors.As(err, &inner) {
		// A refusal by a policy below this interceptor.
		e.Result = inner.Outcome()
		e.After, e.HasAfter = inner.Delay()
		return e
	}
	if e.Result = s.outcomeOf(g, c, x.reply, err, x.failure); e.Result == reducer.OK {
		return nil
	}
	if err == nil {
		e.Err = &replyError{e.Result}
	}
	e.After, e.HasAfter = retryAfter(err, x.trailer)
	return e
}
