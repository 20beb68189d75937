package nethttp

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// DeadlineHeader is a name for WithDeadlineHeader.
const DeadlineHeader = "X-Request-Timeout-Ms"

// grpcTimeout is the header field of gRPC that has a format of its own.
const grpcTimeout = "Grpc-Timeout"

// hop is what goes from the request that comes in to those that go out for it.
type hop struct {
	deadline string        // the header field, canonical; empty for none
	most     time.Duration // 0 for as long as the header says
	carried  []string      // header fields, canonical
}

// WithDeadlineHeader carries the time that a request may take over hops, in a header
// field. A name is DeadlineHeader; the field has whole milliseconds, and where its name is
// Grpc-Timeout the format of gRPC. Default: off.
//
// A Handler ends the context of a request after that time, counted from its arrival,
// answers 503 for a handler that has written nothing by then, and refuses at once with
// 429 and the reason "deadline" what would have to wait for longer. A client can only
// shorten what the policy allows, and no breaker counts what ends at a client's deadline.
// A field that cannot be read is ignored.
//
// A Transport tells the dependency how long the attempt may take: what is left of the
// deadline of the request's context or of the policy's timeouts, whichever is sooner. A
// shorter time that the request says itself stays. Without a deadline the field is left
// as it is.
//
// most bounds the time in both directions; 0 or less bounds nothing.
func WithDeadlineHeader(name string, most time.Duration) Option {
	return func(s *settings) { s.hop.deadline, s.hop.most = http.CanonicalHeaderKey(name), most }
}

// WithCarriedHeaders carries header fields over hops, as Priority (RFC 9218) or
// X-Request-Id. A Handler keeps those of a request with its context. A Transport adds
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

// time returns how long a request may take; ok is false where it does not say.
func (p *hop) time(h http.Header) (d time.Duration, ok bool) {
	lines := h[p.deadline]
	if len(lines) != 1 {
		return 0, false
	}
	unit, digits := time.Millisecond, lines[0]
	if p.deadline == grpcTimeout {
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
	return p.bounded(time.Duration(min(n, most/uint64(max(unit/time.Millisecond, 1)))) * unit), true
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

// write tells in the headers of an attempt how long it may take.
func (p *hop) write(ctx context.Context, h http.Header) {
	at, ok := ctx.Deadline()
	if !ok {
		return
	}
	// What is sent is not over yet.
	left := max(p.bounded(time.Until(at)), time.Millisecond)
	if own, ok := p.time(h); ok && own <= left {
		return
	}
	text := strconv.FormatInt(left.Milliseconds(), 10)
	if p.deadline == grpcTimeout {
		// At most eight digits.
		if ms := left.Milliseconds(); ms < 100_000_000 {
			text += "m"
		} else {
			text = strconv.FormatInt(min(ms/1000, 99_999_999), 10) + "S"
		}
	}
	h[p.deadline] = []string{text}
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
func (p *hop) onward(ctx context.Context, req *http.Request) {
	if p.deadline != "" {
		p.write(ctx, req.Header)
	}
	if len(p.carried) > 0 {
		p.carry(ctx, req.Header)
	}
}

// any reports whether anything is carried.
func (p *hop) any() bool { return p.deadline != "" || len(p.carried) > 0 }

// limit returns the context of a request that says how long it may take; cancel is nil
// for one that does not. at is the deadline.
func (p *hop) limit(ctx context.Context, h http.Header) (limited context.Context, cancel context.CancelFunc, at time.Time) {
	d, ok := p.time(h)
	if !ok {
		return ctx, nil, at
	}
	limited, cancel = context.WithTimeout(ctx, d)
	at, _ = limited.Deadline()
	return limited, cancel, at
}
