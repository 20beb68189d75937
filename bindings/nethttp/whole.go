package nethttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/guards"
	"github.com/sluice-go/sluice/internal/refusals"
	"github.com/sluice-go/sluice/reducer"
)

// pauses is the time in which the reader of an answer is waited for.
type pauses struct {
	now   func() time.Time
	began time.Time // of the attempt

	mu    sync.Mutex
	since time.Time // of the present pause; zero for none
	total time.Duration
}

func newPauses(now func() time.Time) *pauses { return &pauses{now: now, began: now()} }

// begin begins a pause, end ends it.
func (p *pauses) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.since = p.now()
}

func (p *pauses) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.since.IsZero() {
		p.total += p.now().Sub(p.since)
		p.since = time.Time{}
	}
}

// sum returns the time of all of them. p may be nil.
func (p *pauses) sum() time.Duration {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.since.IsZero() {
		return p.total
	}
	return p.total + p.now().Sub(p.since)
}

// mostPaused is which part of the time of an attempt that is cut its reader may have paused,
// one in so many. More means that without the pauses it might not have been cut. None at
// all would mean never, for a reader that works on what it reads always pauses.
const mostPaused = 10

// tooLong reports whether the pauses are to blame when an attempt is cut now. p may be
// nil.
func (p *pauses) tooLong() bool {
	return p != nil && p.sum() > p.now().Sub(p.began)/mostPaused
}

// wholeAnswer is an answer of a Transport whose body is a part of the call.
type wholeAnswer struct {
	call *call
	resp *http.Response
	ctx  context.Context // of the attempt
	done func(reducer.Outcome)
	stop func() bool // of what ends the answer with the attempt
}

// extend makes the body of a good answer a part of the call.
func (c *call) extend(ctx context.Context, resp *http.Response) {
	d := c.body
	if d.done.Load() || resp.StatusCode == http.StatusSwitchingProtocols {
		return
	}
	w := &wholeAnswer{call: c, resp: resp, ctx: ctx, done: sluice.Extend(ctx)}
	c.pauses.begin()
	d.whole = w
	// The end of the attempt ends the answer, whether or not a read waits for it.
	w.stop = context.AfterFunc(ctx, func() { d.over(ctx.Err()) })
}

func (w *wholeAnswer) reads()  { w.call.pauses.end() }
func (w *wholeAnswer) pauses() { w.call.pauses.begin() }

// isTimeout reports whether a timeout of the policy or of WithIdleTimeout cut an answer.
func isTimeout(err error) bool {
	var timeout *sluice.TimeoutError
	return errors.As(err, &timeout)
}

// outcome is what the end of the body means. What a timeout of the policy cut is for the
// runner to tell.
func (w *wholeAnswer) outcome(err error) reducer.Outcome {
	c := w.call
	outcomes := guards.Outcomes(c.t.outcomes, c.guard.pipeline)
	switch {
	case errors.Is(c.req.Context().Err(), context.Canceled), c.upload.client.failure() != nil:
		return reducer.Cancelled
	case w.ctx.Err() != nil, isTimeout(err):
		return reducer.Fail
	case err == nil, err == io.EOF:
	case c.upload.unfinished():
		return reducer.Cancelled
	default:
		return outcomeOfError(outcomes, err)
	}
	outcome := reducer.OK
	if code := w.resp.Trailer.Get(grpcStatus); err == io.EOF && code != "" && isGRPC(w.resp.Header) {
		_, status := refusals.HTTPOfGRPC(code)
		outcome = outcomes.OfStatus(status)
	}
	if outcome == reducer.OK && c.guard.view().slowed(c.pauses.began, c.t.now, c.pauses.sum()+c.uploaded) {
		return reducer.Cancelled
	}
	return outcome
}
