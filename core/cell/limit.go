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
	l := &limits{waiting: limiter.Waiting{Wait: c.Wait, Queue: c.Queue, Order: c.Order}}
	var err error
	switch c.Algorithm {
	case limiter.TokenBucket:
		var m *tokenbucket.Machine
		m, err = tokenbucket.New(tokenbucket.Config{Count: c.Count, Period: c.Period, Burst: c.Burst})
		l.counter = count(m)
	case limiter.FixedWindow, limiter.SlidingCounter:
		if c.Burst != 0 {
			return nil, reducer.BadCount("burst", uint64(c.Burst), "token-bucket alone has a burst")
		}
		window := fixedwindow.Config{Count: c.Count, Period: c.Period}
		if c.Algorithm == limiter.FixedWindow {
			var m *fixedwindow.Machine
			m, err = fixedwindow.New(window)
			l.counter = count(m)
		} else {
			var m *slidingcounter.Machine
			m, err = slidingcounter.New(window)
			l.counter = count(m)
		}
	default:
		err = reducer.BadCount("algorithm", uint64(c.Algorithm), "TokenBucket, FixedWindow or SlidingCounter")
	}
	if err == nil {
		err = l.waiting.Check()
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// algorithm is a machine that a limiter counts with.
type algorithm[S, C any] interface {
	limiter.Counter[S]
	inPlace[S]
	// Adopt takes over the state of another configuration.
	Adopt(state S, from C, now clock.Mark) S
	Enter(state *S, cost uint32, now clock.Mark) (reducer.Permit, bool)
}

// counter is a counter with its state, whatever its algorithm.
type counter interface {
	limiter.Count
	Enter(cost uint32, now clock.Mark) (reducer.Permit, bool)
	// begin returns a new counter of the same configuration.
	begin(now clock.Mark) counter
	// adopt is begin with the state of another counter, as the configure rules
	// say.
	adopt(old counter, now clock.Mark) counter
	free(now clock.Mark) uint32
	fresh(now clock.Mark) bool
	encode(dst []byte) []byte
	decode(src []byte) error
	move(by time.Duration)
	value() any
	appendText(dst []byte, now clock.Mark) []byte
}

// counted is a counter of one algorithm.
type counted[S any, C algorithm[S, C]] struct {
	limiter.Counted[S, C]
	state S
}

func count[S any, C algorithm[S, C]](machine C) *counted[S, C] {
	c := &counted[S, C]{}
	c.Counter, c.State = machine, &c.state
	return c
}

// Copy is that of limiter.Counted, as a counter of this package: the fewer types
// stand behind an interface, the less a call through it is in wasm.
func (c *counted[S, C]) Copy() limiter.Count {
	copied := count(c.Counter)
	copied.state = c.Counter.Clone(c.state)
	return copied
}

func (c *counted[S, C]) Enter(cost uint32, now clock.Mark) (reducer.Permit, bool) {
	return c.Counter.Enter(&c.state, cost, now)
}

func (c *counted[S, C]) begin(now clock.Mark) counter {
	begun := count(c.Counter)
	begun.state = c.Counter.Init(now)
	return begun
}

func (c *counted[S, C]) adopt(old counter, now clock.Mark) counter {
	adopted := count(c.Counter)
	if same, ok := old.(*counted[S, C]); ok {
		adopted.state = c.Counter.Adopt(same.state, same.Counter, now)
	} else {
		adopted.state = c.Counter.Carry(old.free(now), now)
	}
	return adopted
}

func (c *counted[S, C]) free(now clock.Mark) uint32 { return c.Counter.Free(&c.state, now) }
func (c *counted[S, C]) fresh(now clock.Mark) bool  { return c.Counter.Fresh(c.state, now) }
func (c *counted[S, C]) encode(dst []byte) []byte   { return c.Counter.Encode(dst, &c.state) }
func (c *counted[S, C]) move(by time.Duration)      { c.Counter.Move(&c.state, by) }
func (c *counted[S, C]) value() any                 { return c.state }

func (c *counted[S, C]) decode(src []byte) error {
	var state S
	if err := c.Counter.Decode(src, &state); err != nil {
		return err
	}
	c.state = state
	return nil
}

func (c *counted[S, C]) appendText(dst []byte, now clock.Mark) []byte {
	return c.Counter.AppendText(dst, c.state, now)
}

// tokens is the counter of a token bucket.
type tokens = counted[tokenbucket.State, *tokenbucket.Machine]

// limits makes limiters.
type limits struct {
	waiting limiter.Waiting
	counter counter // of the configuration; its state is nobody's
}

func (l *limits) New(now clock.Mark) Cell { return l.cell(l.counter.begin(now), now) }

func (l *limits) cell(c counter, now clock.Mark) *limit {
	made := &limit{counter: c, waiting: &l.waiting}
	made.bucket, _ = c.(*tokens)
	made.line.Last = clock.Always
	if l.waiting.Wait > 0 {
		made.queue(now)
	}
	return made
}

func (l *limits) Adopt(old Cell, now clock.Mark, out *reducer.Out) Cell {
	from, ok := old.(*limit)
	if !ok {
		return l.New(now)
	}
	made := l.cell(l.counter.adopt(from.counter, now), now)
	if from.line.Queue.Len() > 0 {
		// They keep their places, though the new configuration may have none.
		made.queue(now)
	}
	if made.queued {
		// Also when it is empty: it knows which tickets it has given.
		made.line.Queue = from.line.Queue
		made.line.Fit(made.counter, out)
	}
	return made
}

// limit is a limiter.
type limit struct {
	counter counter
	bucket  *tokens // the counter, where it is a token bucket, as most are
	waiting *limiter.Waiting
	line    limiter.Line // Last is clock.Always without a queue
	queued  bool
}

// queue puts a queue before the counter.
func (l *limit) queue(now clock.Mark) { l.queued, l.line.Last = true, now }

func (l *limit) Step(a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	switch {
	case l.queued:
		return l.waiting.Step(&l.line, l.counter, a, now, out)
	case l.bucket != nil:
		return l.bucket.Counter.Step(&l.bucket.state, a, now, out)
	}
	return limiter.Count(l.counter).Step(a, now)
}

// Enter implements Cell. A token bucket is asked directly: that is the shortest
// way of all calls.
func (l *limit) Enter(cost uint32, _ uint64, now clock.Mark) (p reducer.Permit, ok bool) {
	if l.line.Queue.Len() > 0 {
		return p, false
	}
	now = max(now, l.line.Last)
	if l.bucket != nil {
		p, ok = l.bucket.Counter.Enter(&l.bucket.state, cost, now)
	} else {
		p, ok = l.counter.Enter(cost, now)
	}
	if ok && l.queued {
		l.line.Last = now
	}
	return p, ok
}

func (l *limit) Exit(reducer.Permit, clock.Mark) bool { return false }

func (l *limit) Held() bool { return l.line.Queue.Len() > 0 }

func (l *limit) Ends() clock.Mark { return clock.Never }

func (l *limit) Serves() (clock.Mark, uint64) { return l.waiting.Serves(&l.line, l.counter) }

func (l *limit) Wake() clock.Mark { return l.waiting.Wake(&l.line, l.counter) }

func (l *limit) Fresh(now clock.Mark) bool {
	return l.line.Queue.Len() == 0 && l.counter.fresh(max(now, l.line.Last))
}

func (l *limit) AppendState(dst []byte) []byte {
	if !l.queued {
		return l.counter.encode(dst)
	}
	return l.line.Encode(dst, l.counter.encode(nil))
}

func (l *limit) Restore(src []byte) (err error) {
	if !l.queued {
		return l.counter.decode(src)
	}
	var line limiter.Line
	if src, err = line.Decode(src); err != nil {
		return err
	}
	if err = l.counter.decode(src); err != nil {
		return err
	}
	l.line = line
	return nil
}

func (l *limit) Revive(src []byte, by time.Duration) error {
	if err := l.Restore(src); err != nil {
		return err
	}
	l.counter.move(by)
	if l.queued {
		l.line = limiter.Line{Last: l.line.Last.Add(by)}
	}
	return nil
}

func (l *limit) appendText(dst []byte, now clock.Mark) []byte {
	return l.line.AppendText(l.counter.appendText(dst, max(now, l.line.Last)))
}

// Counter returns the state of a limiter's counter without its queue, nil for a
// cell of another mechanism.
func Counter(c Cell) any {
	if l, ok := c.(*limit); ok {
		return l.counter.value()
	}
	return nil
}

// RestoreCounter replaces the state of a limiter's counter by a decoded one and
// leaves its queue. For a cell of another mechanism it is an error.
func RestoreCounter(c Cell, src []byte) error {
	if l, ok := c.(*limit); ok {
		return l.counter.decode(src)
	}
	return reducer.ErrEncoding
}
