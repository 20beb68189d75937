package linearizability

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// unit of all times of the histories, so that much happens at one mark. It is long
// because timers of the runner do not use the virtual clock: none may fire during a
// history.
const unit = time.Minute

// line is the clock of a history: the clock of a bubble, or one that its clients advance.
type line struct {
	marks []clock.Mark // nil in a bubble
	at    atomic.Int32
	began time.Time
	noise atomic.Uint64
}

// Now implements clock.Source. Other goroutines may run between the read and the use
// of the mark.
func (l *line) Now() clock.Mark {
	now := l.mark()
	l.pause()
	return now
}

func (l *line) mark() clock.Mark {
	if l.marks == nil {
		return clock.Mark(time.Since(l.began))
	}
	return l.marks[l.at.Load()]
}

// advance returns the new mark, and false where there is none.
func (l *line) advance() (clock.Mark, bool) {
	at := l.at.Load()
	if int(at) >= len(l.marks)-1 || !l.at.CompareAndSwap(at, at+1) {
		return 0, false
	}
	return l.marks[at+1], true
}

func (l *line) pause() {
	if l.noise.Add(0x9e3779b97f4a7c15)>>62 == 0 {
		runtime.Gosched()
	}
}

// between returns the marks that an operation between two marks may have had.
func (l *line) between(from, to clock.Mark) (marks []clock.Mark) {
	if l.marks == nil {
		for at := from; at <= to; at = at.Add(unit) {
			marks = append(marks, at)
		}
		return marks
	}
	for _, at := range l.marks {
		if from <= at && at <= to {
			marks = append(marks, at)
		}
	}
	return marks
}

// history has the concurrent operations of some clients.
type history struct {
	*line
	rng      *rand.Rand
	ticks    atomic.Int64
	calls    atomic.Int64
	requests atomic.Int64
	ops      []porcupine.Operation
	config   any // of the runner
}

func newHistory(rng *rand.Rand, bubble bool) *history {
	h := &history{line: &line{}, rng: rng}
	h.noise.Store(rng.Uint64())
	if bubble {
		h.began = time.Now()
		return h
	}
	at := clock.Mark(0)
	for range 5 {
		h.marks = append(h.marks, at)
		at = at.Add(time.Duration(1+rng.IntN(3)) * unit)
	}
	return h
}

// play has clients do something, each on a goroutine of its own.
func (h *history) play(do func(c *client)) {
	most := 3
	if h.marks != nil {
		most = 2 // as every step may have several marks
	}
	clients := make([]*client, 2+h.rng.IntN(most))
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range clients {
		c := &client{history: h, id: i, rng: rand.New(rand.NewPCG(h.rng.Uint64(), uint64(i)))}
		clients[i] = c
		all.Go(func() {
			<-start
			do(c)
		})
	}
	close(start)
	all.Wait()
	for _, c := range clients {
		h.ops = append(h.ops, c.ops...)
	}
}

// String is a line for each operation, in the order of their beginnings.
func (h *history) String() string {
	ops := slices.Clone(h.ops)
	slices.SortStableFunc(ops, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var text strings.Builder
	fmt.Fprintf(&text, "  %+v\n", h.config)
	for _, o := range ops {
		fmt.Fprintf(&text, "  client %d, %d to %d: %s -> %s\n", o.ClientId, o.Call, o.Return, o.Input.(*op), o.Output.(*seen))
	}
	return text.String()
}

// overlaps reports whether two clients were in the runner at the same time.
func (h *history) overlaps() bool {
	for i, a := range h.ops {
		for _, b := range h.ops[i+1:] {
			if a.ClientId != b.ClientId && a.Call < b.Return && b.Call < a.Return {
				return true
			}
		}
	}
	return false
}

// client is one of the goroutines of a history.
type client struct {
	*history
	id  int
	rng *rand.Rand
	ops []porcupine.Operation
}

// span is from the call of an operation to its return.
type span struct {
	call, ret int64
	from, to  clock.Mark
}

// rest pauses the client at random.
func (c *client) rest() {
	c.pause()
	switch {
	case c.rng.IntN(3) > 0:
	case c.marks == nil:
		time.Sleep(time.Duration(1+c.rng.IntN(3)) * unit)
	default:
		s := c.enter()
		if at, ok := c.advance(); ok {
			c.exit(&s)
			s.from, s.to = at, at
			c.record(s, step{op: op{kind: pass}})
		}
	}
}

func (c *client) enter() span { return span{from: c.mark(), call: c.ticks.Add(1)} }

func (c *client) exit(s *span) {
	s.ret = c.ticks.Add(1)
	s.to = c.mark()
}

// step is an operation before it is recorded.
type step struct {
	op
	seen
}

// record records a call as its steps. In a bubble the first comes at the mark at
// which the call begins.
func (c *client) record(s span, steps ...step) {
	call := int(c.calls.Add(1)) - 1
	for i := range steps {
		o := &steps[i].op
		o.call, o.nth = call, i
		for _, later := range steps[i+1:] {
			o.more = o.more || later.op.kind == ask
		}
		switch {
		case c.marks != nil:
			o.marks = c.between(s.from, s.to)
		case i == 0:
			o.marks = []clock.Mark{s.from}
		case o.kind == give || o.kind == end && i == len(steps)-1:
			o.marks = []clock.Mark{s.to}
		default:
			o.marks = c.between(s.from, s.to)
		}
		c.ops = append(c.ops, porcupine.Operation{ClientId: c.id, Input: o, Output: &steps[i].seen, Call: s.call, Return: s.ret})
	}
}

func (c *client) request() int { return int(c.requests.Add(1)) - 1 }

// context returns one that is cancelled after some time, or not. settled ends
// that, and reports whether it is cancelled.
func (c *client) context(always bool) (ctx context.Context, settled func() bool) {
	if c.marks != nil || !always && c.rng.IntN(2) == 0 {
		return context.Background(), func() bool { return false }
	}
	ctx, cancel := context.WithCancel(context.Background())
	timer := time.AfterFunc(time.Duration(1+c.rng.IntN(5))*unit, cancel)
	return ctx, func() bool {
		if timer.Stop() {
			return false
		}
		<-ctx.Done()
		return true
	}
}

func asks(cell, req int, how reducer.Kind, cost uint32, s seen) step {
	return step{op{kind: ask, cell: cell, req: req, action: reducer.Action{Kind: how, Cost: cost}}, s}
}

func ends(cell, req int, cost uint32, s seen) step {
	return step{op{kind: end, cell: cell, req: req, action: reducer.Action{Cost: cost}}, s}
}

func gives(cell, req int, a reducer.Action, s seen) step {
	return step{op{kind: give, cell: cell, req: req, action: a}, s}
}

func looks(a reducer.Action, s seen) step {
	return step{op{kind: look, action: a}, s}
}

// String returns the form of an operation in a history.
func (o *op) String() string {
	text := [...]string{"ask", "end", "give", "look", "pass"}[o.kind]
	return fmt.Sprintf("%s call=%d.%d request=%d cell=%d key=%q %v cost=%d wait=%v outcome=%s marks=%v",
		text, o.call, o.nth, o.req, o.cell, o.key, o.action.Kind, o.action.Cost, o.wait, o.action.Outcome, o.marks)
}

// String returns what the caller of the operation saw.
func (s *seen) String() string {
	verdict := s.verdict.String()
	if s.verdict == either {
		verdict = "either"
	}
	return fmt.Sprintf("%s fate=%d reason=%s after=%v told=%t done=%t delay=%v free=%d mode=%s",
		verdict, s.fate, s.reason, s.after, s.told, s.done, s.delay, s.free, s.mode)
}
