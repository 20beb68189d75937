package simtest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/sim/engine"
)

// ErrOver is the error of a request that the end of the scenario cuts off.
var ErrOver = errors.New("simtest: the scenario is over")

// AnswerError is an answer of a service of a World that is not ok. Sluice takes it for
// what it is: a failure, or the dependency's own limit with its retry delay.
type AnswerError struct {
	Service string
	// Result is fail or throttle.
	Result reducer.Outcome
	// After is the retry delay that the answer names, negative for none.
	After time.Duration
}

// Error implements error.
func (e *AnswerError) Error() string {
	return "simtest: service " + e.Service + ": " + e.Result.String()
}

// Outcome implements sluice.Outcomer.
func (e *AnswerError) Outcome() reducer.Outcome { return e.Result }

// RetryAfter implements sluice.RetryAfterer.
func (e *AnswerError) RetryAfter() (time.Duration, bool) { return max(e.After, 0), e.After >= 0 }

// Service is a service of a World: its service times, queue, servers, faults, policy
// and calls to other services come from the scenario, and it answers in virtual
// time. It is an http.Handler, an http.RoundTripper and a function.
type Service struct {
	world *World
	name  string
	index int
}

// Service returns a service of the scenario. It panics for an unknown name.
func (w *World) Service(name string) *Service {
	for i := range w.scenario.Services {
		if w.scenario.Services[i].Name == name {
			return &Service{world: w, name: name, index: i}
		}
	}
	panic("simtest: the scenario has no service " + name)
}

// Do makes a request and waits for the answer. The error is nil for ok, an AnswerError
// for an answer that is not, ErrOver, or the error of the context, whose end gives the
// request up.
//
// The request belongs to the call whose context, or one derived from it, it has: it is
// an attempt of the call, with its key. Without one it counts as an attempt of the
// client that calls the service, where there is only one, and has no key. Requests over
// HTTP may have the header of the call instead, see Call.Header.
func (s *Service) Do(ctx context.Context) error { return s.do(ctx, "") }

func (s *Service) do(ctx context.Context, header string) error {
	w := s.world
	if err := ctx.Err(); err != nil {
		return err
	}
	of, _ := ctx.Value(callKey{}).(*engine.LiveCall)
	answers := make(chan engine.LiveAnswer, 1)
	if !w.enter() {
		return ErrOver
	}
	if of == nil {
		of = w.named[header]
	}
	request := w.live.Request(s.index, of, func(a engine.LiveAnswer) { answers <- a })
	w.leave()
	select {
	case a := <-answers:
		return s.err(a)
	case <-w.ctx.Done():
		return ErrOver
	case <-ctx.Done():
	}
	if !w.enter() {
		return ErrOver
	}
	w.live.GiveUp(request)
	w.leave()
	return ctx.Err()
}

func (s *Service) err(a engine.LiveAnswer) error {
	if a.Outcome == reducer.OK {
		return nil
	}
	return &AnswerError{Service: s.name, Result: a.Outcome, After: a.RetryAfter}
}

// status returns the answer to HTTP: 200, 500, or 429 with Retry-After in seconds,
// rounded up. The error is one of Do that is no answer.
func (s *Service) status(r *http.Request) (status int, retryAfter string, err error) {
	name, _ := Call{}.Header()
	err = s.do(r.Context(), r.Header.Get(name))
	var answer *AnswerError
	switch {
	case err == nil:
		return http.StatusOK, "", nil
	case !errors.As(err, &answer):
		return 0, "", err
	case answer.Result != reducer.Throttle:
		return http.StatusInternalServerError, "", nil
	}
	if after, ok := answer.RetryAfter(); ok {
		retryAfter = strconv.FormatInt(int64((after+time.Second-1)/time.Second), 10)
	}
	return http.StatusTooManyRequests, retryAfter, nil
}

// ServeHTTP implements http.Handler: 200 for ok, 500 for fail, 429 for throttle, with
// Retry-After in whole seconds. A request whose context ends, or that the end of the
// scenario cuts off, panics with http.ErrAbortHandler, which closes its connection.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, retryAfter, err := s.status(r)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if retryAfter != "" {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, http.StatusText(status)) // an error is the client's: it has gone
}

// RoundTrip implements http.RoundTripper, with the answers of ServeHTTP and the errors
// of Do.
func (s *Service) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body) // what a service reads does not change its answer
		_ = r.Body.Close()
	}
	status, retryAfter, err := s.status(r)
	if err != nil {
		return nil, err
	}
	answer := &http.Response{
		Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r,
	}
	if retryAfter != "" {
		answer.Header.Set("Retry-After", retryAfter)
	}
	return answer, nil
}
