package cell

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/fixedwindow"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/slidingcounter"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/reducer"
)

// ForLimit returns the maker of a limiter's cells.
func ForLimit(c limiter.Config) (Maker, error) {
	w := limiter.Waiting{Wait: c.Wait, Queue: c.Queue, Order: c.Order}
	switch c.Algorithm {
	case limiter.TokenBucket:
		m, err := tokenbucket.New(tokenbucket.Config{Count: c.Count, Period: c.Period, Burst: c.Burst})
		return limitMaker(m, w, err, newTokens)
	case limiter.FixedWindow, limiter.SlidingCounter:
		if c.Burst != 0 {
			return nil, reducer.BadCount("burst", uint64(c.Burst), "token-bucket alone has a burst")
		}
		window := fixedwindow.Config{Count: c.Count, Period: c.Period}
		if c.Algorithm == limiter.FixedWindow {
			m, err := fixedwindow.New(window)
			return limitMaker(m, w, err, newBare[fixedwindow.State, *fixedwindow.Machine])
		}
		m, err := slidingcounter.New(window)
		return limitMaker(m, w, err, newBare[slidingcounter.State, *slidingcounter.Machine])
	}
	return nil, reducer.BadCount("algorithm", uint64(c.Algorithm), "TokenBucket, FixedWindow or SlidingCounter")
}

// counter is an algorithm that can take over another configuration's state.
type counter[S, C any] interface {
	limiter.Counter[S]
	Adopt(state S, from C, now clock.Mark) S
	Enter(state *S, cost uint32, now clock.Mark) (reducer.Permit, bool)
}

type limits[S any, C counter[S, C]] struct {
	counter C
	queued  *limiter.Machine[S, C]
	bare    func(C, S) Cell
	waits   bool
}

func limitMaker[S any, C counter[S, C]](c C, w limiter.Waiting, err error, bare func(C, S) Cell) (Maker, error) {
	if err != nil {
		return nil, err
	}
	queued, err := limiter.New[S](c, w)
	if err != nil {
		return nil, err
	}
	return &limits[S, C]{counter: c, queued: queued, bare: bare, waits: w.Wait > 0}, nil
}

func (l *limits[S, C]) New(now clock.Mark) Cell {
	if l.waits {
		return &queued[S, C]{box[limiter.State[S], *limiter.Machine[S, C]]{l.queued, l.queued.Init(now)}}
	}
	return l.bare(l.counter, l.counter.Init(now))
}

// anyLimit is what a cell of one algorithm must know of another's.
type anyLimit interface {
	free(now clock.Mark) uint32
	queue() limiter.Queue
	counter() any
	restore(src []byte) error
}

// sameLimit is a cell of the same algorithm.
type sameLimit[S, C any] interface{ parts() (S, C) }

func (l *limits[S, C]) Adopt(old Cell, now clock.Mark, out *reducer.Out) Cell {
	from, ok := old.(anyLimit)
	if !ok {
		return l.New(now)
	}
	var state S
	if same, ok := old.(sameLimit[S, C]); ok {
		before, config := same.parts()
		state = l.counter.Adopt(before, config, now)
	} else {
		state = l.counter.Carry(from.free(now), now)
	}
	q := from.queue()
	if !l.waits && q.Len() == 0 {
		return l.bare(l.counter, state)
	}
	return &queued[S, C]{box[limiter.State[S], *limiter.Machine[S, C]]{l.queued, l.queued.Adopt(state, q, now, out)}}
}

// Counter returns the state of a limiter's counter without its queue, nil for a
// cell of another mechanism.
func Counter(c Cell) any {
	if l, ok := c.(anyLimit); ok {
		return l.counter()
	}
	return nil
}

// RestoreCounter replaces the state of a limiter's counter by a decoded one and
// leaves its queue. For a cell of another mechanism it is an error.
func RestoreCounter(c Cell, src []byte) error {
	if l, ok := c.(anyLimit); ok {
		return l.restore(src)
	}
	return reducer.ErrEncoding
}

// bare is a limiter at which nobody waits.
type bare[S any, C counter[S, C]] struct{ box[S, C] }

func newBare[S any, C counter[S, C]](c C, s S) Cell { return &bare[S, C]{box[S, C]{c, s}} }

// tokens is a token bucket at which nobody waits.
type tokens struct {
	bare[tokenbucket.State, *tokenbucket.Machine]
}

func newTokens(m *tokenbucket.Machine, s tokenbucket.State) Cell {
	return &tokens{bare[tokenbucket.State, *tokenbucket.Machine]{box[tokenbucket.State, *tokenbucket.Machine]{m, s}}}
}

// Step calls the machine directly, not through the box's type parameters.
func (t *tokens) Step(a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	return t.machine.Step(&t.state, a, now, out)
}

// Enter implements Cell.
func (t *tokens) Enter(cost uint32, _ uint64, now clock.Mark) (reducer.Permit, bool) {
	return t.machine.Enter(&t.state, cost, now)
}

// Enter implements Cell.
func (b *bare[S, C]) Enter(cost uint32, _ uint64, now clock.Mark) (reducer.Permit, bool) {
	return b.machine.Enter(&b.state, cost, now)
}

func (b *bare[S, C]) parts() (S, C)              { return b.state, b.machine }
func (b *bare[S, C]) free(now clock.Mark) uint32 { return b.machine.Free(b.state, now) }
func (b *bare[S, C]) queue() limiter.Queue       { return limiter.Queue{} }
func (b *bare[S, C]) counter() any               { return b.state }
func (b *bare[S, C]) restore(src []byte) error   { return b.Restore(src) }

// queued is a limiter with a queue.
type queued[S any, C counter[S, C]] struct {
	box[limiter.State[S], *limiter.Machine[S, C]]
}

// Enter implements Cell.
func (q *queued[S, C]) Enter(cost uint32, _ uint64, now clock.Mark) (reducer.Permit, bool) {
	if q.state.Queue.Len() > 0 {
		return reducer.Permit{}, false
	}
	now = max(now, q.state.Last)
	p, ok := q.machine.Counter.Enter(&q.state.Counter, cost, now)
	if ok {
		q.state.Last = now
	}
	return p, ok
}

func (q *queued[S, C]) parts() (S, C) { return q.state.Counter, q.machine.Counter }
func (q *queued[S, C]) free(now clock.Mark) uint32 {
	return q.machine.Counter.Free(q.state.Counter, now)
}
func (q *queued[S, C]) queue() limiter.Queue { return q.state.Queue }
func (q *queued[S, C]) counter() any         { return q.state.Counter }
func (q *queued[S, C]) restore(src []byte) error {
	state, err := q.machine.Counter.DecodeState(src)
	if err == nil {
		q.state.Counter = state
	}
	return err
}

func (q *queued[S, C]) Revive(src []byte, by time.Duration) error {
	if err := q.box.Revive(src, by); err != nil {
		return err
	}
	q.state.Queue = limiter.Queue{}
	return nil
}

func (q *queued[S, C]) Serves() (clock.Mark, uint64) {
	if q.state.Queue.Len() == 0 {
		return clock.Never, 0
	}
	at, caller, _ := q.machine.NextServe(&q.state)
	return at, caller
}
