package nethttp

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/pipeline"
)

// DeadlineHeader is a name for WithDeadlineHeader.
const DeadlineHeader = "X-Request-Timeout-Ms"

// grpcTimeout is the header field of gRPC that has a format of its own.
const grpcTimeout = "Grpc-Timeout"

// hop is what goes from the request that comes in to those that go out for it.
type hop struct {
	// deadlines are the header fields that say how long a request may take, canonical:
	// one, and the one of gRPC; empty for none.
	deadlines []string
	most      time.Duration // 0 for as long as the header says
	carried   []string      // header fields, canonical
}

// WithDeadlineHeader carries the time that a request may take over hops, in a header
// field of whole milliseconds. A name is DeadlineHeader. A request of gRPC has
// Grpc-Timeout for that, which is read and written as well, in the format of gRPC; with
// this name all requests have it. Default: off.
//
// A Handler and a Transport.Proxy end the context of a guarded request after that time,
// counted from its arrival, the answer included. What would have to wait for longer is
// refused at once, with 429 and the reason "deadline". A request without an answer by
// then is answered by a Handler with 503 and by a Proxy with 504. A client can only
// shorten what the policy allows, and what ends at a client's deadline gives no vote. A
// field that cannot be read is ignored, and a Proxy drops it.
//
// A Transport tells the dependency how long the attempt may take: what is left of the
// deadline of the request's context or of the policy's timeouts, whichever is sooner. A
// shorter time that the request says itself stays. Without a deadline the field is left
// as it is.
//
// most bounds the time in both directions; 0 or less bounds nothing.
func WithDeadlineHeader(name string, most time.Duration) Option {
	return func(s *settings) {
		s.hop.deadlines, s.hop.most = []string{http.CanonicalHeaderKey(name), grpcTimeout}, most
	}
}

// WithCarriedHeaders carries header fields over hops, as Priority (RFC 9218) or
// X-Request-Id. A Handler keeps the headers of a request with its context. A Transport adds
// them to requests of this context, or of one made from it, that do not have the field
// themselves. Both need the option. Fields with more than 1 KiB are left out. Default:
// none.
func WithCarriedHeaders(names ...string) Option {
	return func(s *settings) {
		s.hop.carried = nil
		for _, name := range names {
			s.hop.carried = append(s.hop.carried, http.CanonicalHeaderKey(name))
		}
	}
}

// fields returns the header fields that count for a request.
func (p *hop) fields(h http.Header) []string {
	if p.deadlines[0] == grpcTimeout || !isGRPC(h) {
		return p.deadlines[:1]
	}
	return p.deadlines
}

// time returns how long a request may take; ok is false where it does not say.
func (p *hop) time(h http.Header) (d time.Duration, ok bool) {
	for _, name := range p.fields(h) {
		if own, says := timeOf(h, name); says && (!ok || own < d) {
			d, ok = own, true
		}
	}
	return p.bounded(d), ok
}

// timeOf returns the time in a header field; ok is false where it cannot be read.
func timeOf(h http.Header, name string) (d time.Duration, ok bool) {
	lines := h[name]
	if len(lines) != 1 {
		return 0, false
	}
	unit, digits := time.Millisecond, lines[0]
	if name == grpcTimeout {
		if digits == "" {
			return 0, false
		}
		last := len(digits) - 1
		if unit, ok = grpcUnits[digits[last]]; !ok {
			return 0, false
		}
		digits = digits[:last]
	}
	// More is longer than a Duration can be, and than a server waits.
	const most = 1<<31 - 1
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, false
	}
	return time.Duration(min(n, most/uint64(max(unit/time.Millisecond, 1)))) * unit, true
}

func (p *hop) bounded(d time.Duration) time.Duration {
	if p.most > 0 {
		return min(d, p.most)
	}
	return d
}

var grpcUnits = map[byte]time.Duration{
	'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond,
}

// write tells in the headers of an attempt how long it may take. A field that cannot be
// read is dropped where it came in.
func (p *hop) write(ctx context.Context, h http.Header, server bool) {
	at, timed := ctx.Deadline()
	// What is sent is not over yet.
	left := max(p.bounded(time.Until(at)), time.Millisecond)
	names := p.fields(h)
	for i, name := range names {
		own, readable := timeOf(h, name)
		_, present := h[name]
		switch {
		case readable && (!timed || own <= left):
		case timed && (present || i == len(names)-1):
			h[name] = []string{timeText(name, left)}
		case present && server:
			delete(h, name)
		}
	}
}

// timeText is a time in the format of a header field.
func timeText(name string, d time.Duration) string {
	if name != grpcTimeout {
		return strconv.FormatInt(d.Milliseconds(), 10)
	}
	// At most eight digits, so the unit is the smallest that has enough of them.
	const most = 99_999_999
	for _, unit := range "num" {
		if n := d / grpcUnits[byte(unit)]; n <= most {
			return strconv.FormatInt(int64(n), 10) + string(unit)
		}
	}
	return strconv.FormatInt(min(int64(d/time.Second), most), 10) + "S"
}

// mostCarried is how many bytes of a field are carried.
const mostCarried = 1 << 10

// keep returns a copy of the fields that are carried, nil for none.
func (p *hop) keep(h http.Header) (kept http.Header) {
	for _, name := range p.carried {
		bytes := 0
		for _, line := range h[name] {
			bytes += len(line)
		}
		if len(h[name]) == 0 || bytes > mostCarried {
			continue
		}
		if kept == nil {
			kept = http.Header{}
		}
		kept[name] = slices.Clone(h[name])
	}
	return kept
}

// carry adds the fields of the request that came in.
func (p *hop) carry(ctx context.Context, h http.Header) {
	s, ok := ctx.Value(admissionKey{}).(*served)
	if !ok {
		return
	}
	for _, name := range p.carried {
		if lines := s.carried[name]; len(lines) > 0 && len(h[name]) == 0 {
			h[name] = slices.Clone(lines)
		}
	}
}

// onward sets the header fields of an attempt that carry something over the hop.
// server says that the request came in from a client.
func (p *hop) onward(ctx context.Context, req *http.Request, server bool) {
	if len(p.deadlines) > 0 {
		p.write(ctx, req.Header, server)
	}
	if len(p.carried) > 0 {
		p.carry(ctx, req.Header)
	}
}

// any reports whether anything is carried.
func (p *hop) any() bool { return len(p.deadlines) > 0 || len(p.carried) > 0 }

// limit returns the context of a request that says how long it may take; cancel is nil
// for one that does not. at is the deadline.
func (p *hop) limit(ctx context.Context, h http.Header) (limited context.Context, cancel context.CancelFunc, at time.Time) {
	if len(p.deadlines) == 0 {
		return ctx, nil, at
	}
	d, ok := p.time(h)
	if !ok {
		return ctx, nil, at
	}
	limited, cancel = context.WithTimeout(ctx, d)
	at, _ = limited.Deadline()
	return limited, cancel, at
}

// clientDeadline is the deadline of a request which says how long it may take.
type clientDeadline struct {
	at    time.Time
	first bool // no timeout of the policy comes before it
}

// compare notes whether the context of an attempt, which has the deadlines of the policy
// as well, ends at the client's.
func (d *clientDeadline) compare(attempt context.Context) {
	at, _ := attempt.Deadline()
	// The two were made of different readings of the clock.
	d.first = d.at.Sub(at) < time.Millisecond
}

// errorOf returns the error of a request whose client's deadline has passed, and any other
// as it is. ctx is the context of the request.
func (d *clientDeadline) errorOf(ctx context.Context, policy string, err error) error {
	if d == nil || err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return err
	}
	var known *sluice.TimeoutError
	var refused *sluice.RejectedError
	if errors.As(err, &known) || errors.As(err, &refused) {
		return err
	}
	return &sluice.TimeoutError{Policy: policy, Step: pipeline.Deadline, Err: err}
}
