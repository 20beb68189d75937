package sluicegrpc

import (
	"context"
	"errors"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/refusals"
	"github.com/sluice-go/sluice/reducer"
)

// policyError is an error of a policy with the status of the call.
type policyError struct {
	error
	status *status.Status
}

func (e *policyError) Unwrap() error { return e.error }

// GRPCStatus is what package status looks for.
func (e *policyError) GRPCStatus() *status.Status { return e.status }

// isPolicys reports whether an error comes from a policy, and not from an attempt.
func isPolicys(err error) bool {
	switch err.(type) {
	case *sluice.RejectedError, *sluice.TimeoutError, *sluice.InjectedError, *sluice.CancelError, *sluice.UnknownPolicyError:
		return true
	}
	return false
}

// refusal is what a caller gets in place of an answer.
type refusal struct {
	err    *policyError
	reason string
	// after is the time to come back, negative where no retry can help; told is false for
	// none.
	after time.Duration
	told  bool
}

// refuse returns the refusal that an error of the policy, or of the context of the call,
// stands for.
//
// What a limit refuses, for whatever reason, is RESOURCE_EXHAUSTED, other refusals are
// UNAVAILABLE: the statuses that internal/refusals has for HTTP. What lacks an attribute is
// INVALID_ARGUMENT, or UNAUTHENTICATED or PERMISSION_DENIED where missing says 401 or 403.
func (g *guard) refuse(err error) refusal {
	r := refusal{err: &policyError{error: err}}
	code, detail := codes.Canceled, ""
	switch e := err.(type) {
	case *sluice.RejectedError:
		p := refusals.Rejected(e.Step, g.view().IsQuota(e.Step), e.Reason, g.view().MissingOf(e.Step))
		code, detail, r.reason = codes.Code(refusals.GRPCOfRejected(e.Reason, p.Status)), p.Detail, p.Reason
		if detail == "" {
			detail = p.Title
		}
		r.after, r.told = comeBack(e)
	case *sluice.TimeoutError:
		code, detail, r.reason = codes.DeadlineExceeded, "The request took longer than it may.", reducer.ReasonTimeout.String()
	case *sluice.InjectedError:
		code, detail, r.reason = codeOfInjected(e.Result), "A chaos step of the policy gives this answer in place of the service.", "injected"
		r.after, r.told = e.RetryAfter()
	case *sluice.UnknownPolicyError:
		code, detail, r.reason = codeInternal, "The policy of this service is missing.", "policy"
	case *RequestError:
		code, detail, r.reason = e.Code, e.Detail, e.Reason
	default:
		if errors.Is(err, context.DeadlineExceeded) {
			code = codes.DeadlineExceeded
		}
		detail = err.Error()
	}
	r.err.status = status.New(code, detail)
	if r.told && r.after >= 0 {
		if with, err := r.err.status.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(r.after)}); err == nil {
			r.err.status = with
		}
	}
	return r
}

// codeOfInjected returns the code that stands for an injected outcome where the policy has
// the default outcomes.
func codeOfInjected(o reducer.Outcome) codes.Code {
	switch o {
	case reducer.Throttle:
		return codes.ResourceExhausted
	case reducer.Ignore:
		return codes.InvalidArgument
	}
	return codes.Unavailable
}

// comeBack returns the time after which a refused call may come again, negative where no
// retry can help.
func comeBack(e *sluice.RejectedError) (time.Duration, bool) {
	if e.RetryAfter >= 0 {
		return e.RetryAfter, true
	}
	if seconds, ok := refusals.ComeBack(e.Reason, e.RetryAfter); ok {
		return time.Duration(seconds) * time.Second, true
	}
	return -1, true
}

// trailer returns the metadata with which a server answers.
func (r *refusal) trailer() metadata.MD {
	md := metadata.MD{}
	if r.reason != "" {
		md[reasonKey] = []string{r.reason}
	}
	if r.told {
		md[pushbackKey] = []string{pushbackText(r.after)}
	}
	return md
}

// pushbackText is a time in whole milliseconds, rounded up, in the 32 bits that clients
// read.
func pushbackText(after time.Duration) string {
	if after < 0 {
		return "-1"
	}
	ms := int64(after / time.Millisecond)
	if after%time.Millisecond > 0 {
		ms++
	}
	return strconv.FormatInt(min(ms, 1<<31-1), 10)
}
