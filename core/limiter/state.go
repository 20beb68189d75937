package limiter

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/fixedwindow"
	"github.com/sluice-go/sluice/core/leakybucket"
	"github.com/sluice-go/sluice/core/queue"
	"github.com/sluice-go/sluice/core/slidingcounter"
	"github.com/sluice-go/sluice/core/slidinglog"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/core/wire"
	"github.com/sluice-go/sluice/reducer"
)

// Queue holds the waiters of a limiter.
type Queue = queue.Queue

// Waiter is one of them.
type Waiter = queue.Waiter

// State is a limiter: the count of its algorithm, and its waiters. It takes 64 bytes
// and points to memory of its own where it keeps a log or a warm-up, where a caller has
// waited, or where blocks are counted.
// Copies share that memory until Clone.
type State struct {
	// Last is the mark of the latest change. An earlier mark counts as this one.
	Last  clock.Mark
	count count
	line  *line // nil until a caller waits, or is refused by a limiter with blocks
}

// count is the count of an algorithm, in one layout for all of them, so that a
// limiter is one type. Each algorithm has its own view of it.
type count struct {
	// generation of permits. The lower half numbers windows, the upper half grows
	// when earlier permits become void.
	generation uint64
	mark       clock.Mark // TAT of a token bucket, next departure, start of a window
	span       uint64     // what a token bucket refunded or a leaky bucket charged, end or span of a window
	used       uint32
	previous   uint32
	idle       uint8
	undone     uint8
	// changed says that the current step changed the count, or the waiters and the row of refusals
	// beside it. Each function that changes one of them sets it.
	changed bool
	more    *more // nil for none
}

// more is what only a sliding log and a token bucket with a warm-up keep.
type more struct {
	entries slidinglog.Log
	warming
}

// half of a generation.
const half = 1<<32 - 1

// void makes all permits void that were granted so far.
func (c *count) void() { c.generation, c.changed = (c.generation>>32+1)<<32, true }

// knows reports whether a permit of the generation may have been granted since
// permits were last made void.
func (c *count) knows(generation uint64) bool {
	return generation != 0 && generation <= c.generation && generation>>32 == c.generation>>32
}

func (c *count) bucket() tokenbucket.State {
	return tokenbucket.State{TAT: c.mark, Refunded: c.span}
}

func (c *count) setBucket(s tokenbucket.State) {
	c.changed = c.changed || c.bucket() != s
	c.mark, c.span = s.TAT, s.Refunded
}

// setTAT is setBucket where nothing is refunded.
func (c *count) setTAT(tat clock.Mark) {
	c.changed = c.changed || c.mark != tat
	c.mark = tat
}

func (c *count) window() fixedwindow.State {
	return fixedwindow.State{Start: c.mark, End: clock.Mark(c.span),
		Permits: fixedwindow.Permits{Used: c.used, Count: c.previous}, Number: c.generation}
}

func (c *count) setWindow(s fixedwindow.State) {
	c.changed = c.changed || c.window() != s
	c.mark, c.span, c.used, c.previous, c.generation = s.Start, uint64(s.End), s.Used, s.Count, s.Number
}

func (c *count) counter() slidingcounter.State {
	return slidingcounter.State{Start: c.mark, Span: time.Duration(c.span), Prev: c.previous, Cur: c.used,
		Idle: c.idle, Undone: c.undone, Number: c.generation}
}

func (c *count) setCounter(s slidingcounter.State) {
	c.changed = c.changed || c.counter() != s
	c.mark, c.span, c.previous, c.used = s.Start, uint64(s.Span), s.Prev, s.Cur
	c.idle, c.undone, c.generation = s.Idle, s.Undone, s.Number
}

// ownMore returns what is to be changed of more.
func (c *count) ownMore() *more {
	if c.more == nil {
		c.more = &more{}
	}
	return c.more
}

// ownEntries returns the log to be changed.
func (c *count) ownEntries() *slidinglog.Log { return &c.ownMore().entries }

// log returns the log to be read.
func (c *count) log() *slidinglog.Log {
	if c.more == nil {
		return nil
	}
	return &c.more.entries
}

func (c *count) leaky() leakybucket.State {
	return leakybucket.State{Next: c.mark, Charged: time.Duration(c.span)}
}

func (c *count) setLeaky(s leakybucket.State) {
	c.changed = c.changed || c.leaky() != s
	c.mark, c.span = s.Next, uint64(s.Charged)
}

func (c *count) clone() count {
	next := *c
	if c.more != nil {
		next.more = &more{c.more.entries.Clone(), c.more.warming}
	}
	return next
}

// Bucket returns the state of a token bucket.
func (s *State) Bucket() tokenbucket.State { return s.count.bucket() }

// SetBucket replaces the state of a token bucket, and makes all permits void that
// were granted so far.
func (s *State) SetBucket(b tokenbucket.State) {
	s.count.setBucket(b)
	s.count.void()
	s.count.changed = false
}

// Bare is the state of a token bucket without waiters and without the mark of its
// latest change, for a holder of many buckets.
type Bare struct {
	TAT        clock.Mark
	Refunded   uint64
	Generation uint64 // of permits
}

// Bare returns it.
func (s *State) Bare() Bare {
	return Bare{TAT: s.count.mark, Refunded: s.count.span, Generation: s.count.generation}
}

// Enter is Machine.Enter by the machine of the bucket, without the other fields of a
// state.
func (b *Bare) Enter(m *Machine, cost uint32, now clock.Mark) (reducer.Permit, bool) {
	tat, ok := m.algorithm.bucket.Take(b.TAT, cost, now)
	if !ok || cost == 0 {
		return reducer.Permit{}, false
	}
	b.TAT = tat
	return reducer.Permit{Generation: b.Generation, ID: uint64(tat) + b.Refunded, Mark: now}, true
}

// At returns the state whose latest change was at a mark, or before: all further
// marks count at least as this one.
func (b Bare) At(last clock.Mark) State {
	return State{Last: last, count: count{generation: b.Generation, mark: b.TAT, span: b.Refunded}}
}

// Window returns the state of a fixed window.
func (s *State) Window() fixedwindow.State { return s.count.window() }

// Counter returns the state of a sliding counter.
func (s *State) Counter() slidingcounter.State { return s.count.counter() }

// Log returns the marks of a sliding log, to be read.
func (s *State) Log() *slidinglog.Log { return s.count.log() }

// Next returns the mark of the next departure of a leaky bucket.
func (s *State) Next() clock.Mark { return s.count.mark }

// Queue returns the waiters, to be read.
func (s *State) Queue() *Queue {
	if s.line == nil {
		return &Queue{}
	}
	return &s.line.queue
}

// Waiting returns how many callers wait.
func (s *State) Waiting() uint32 {
	if s.line == nil {
		return 0
	}
	return s.line.queue.Len()
}

// DropWaiters removes all waiters without effects, for a state that another process
// has saved. Their tickets are not issued again.
func (s *State) DropWaiters() {
	if s.line != nil {
		s.line = &line{queue: s.line.queue.Emptied(), streak: s.line.streak}
	}
}

// Clone implements reducer.Cell.
func (m *Machine) Clone(dst, src *State) {
	*dst = State{Last: src.Last, count: src.count.clone()}
	if src.line != nil {
		dst.line = &line{queue: src.line.queue.Clone(), streak: src.line.streak}
	}
}

// Move implements reducer.Cell.
func (m *Machine) Move(s *State, by time.Duration) {
	s.Last = s.Last.Add(by)
	m.algorithm.move(&s.count, by)
	if s.line != nil {
		s.line.queue.Shift(by)
		s.line.forget()
		if k := &s.line.streak; *k != (streak{}) {
			k.until = k.until.Add(by)
		}
	}
	s.count.changed = false // no step
}

const tag = 'L'

var (
	errGeneration = wire.Invalid("limiter: a generation that no permit has")
	errStreak     = wire.Invalid("limiter: refusals in a row that do not agree with their mark")
	errCost       = wire.Invalid("limiter: a waiter whose cost can never be admitted")
)

// Check implements reducer.Cell.
func (m *Machine) Check(s *State) error {
	if s.count.generation == 0 {
		return errGeneration
	}
	if err := m.algorithm.check(&s.count, s.Last); err != nil || s.line == nil {
		return err
	}
	if k := &s.line.streak; k.blocks == 0 && *k != (streak{}) && (k.until > s.Last || k.refused == 0) {
		return errStreak
	}
	if err := s.line.queue.Check(); err != nil {
		return err
	}
	for i := range int(s.Waiting()) {
		if cost := s.line.queue.At(i).Cost; cost == 0 || cost > m.algorithm.capacity() {
			return errCost
		}
	}
	return nil
}

// Encode implements reducer.Cell: header, Last, the generation of permits in
// two parts, what the algorithm counts, the row of blocks, the queue.
func (m *Machine) Encode(dst []byte, s *State) []byte {
	w := wire.Writer(dst, tag, m.digest)
	m.code(&w, s)
	return w.Bytes()
}

// Decode implements reducer.Cell.
func (m *Machine) Decode(src []byte, s *State) error {
	w := wire.Reader(src, tag, m.digest)
	m.code(&w, s)
	if err := w.Close(); err != nil {
		return err
	}
	if err := m.Check(s); err != nil {
		return wire.Broken(err)
	}
	return nil
}

func (m *Machine) code(w *wire.Coder, s *State) {
	w.Mark(&s.Last)
	codeGeneration(w, &s.count.generation)
	m.algorithm.code(w, &s.count)
	if m.block != nil {
		m.codeStreak(w, s)
	}
	tickets := uint64(0)
	if s.line != nil {
		tickets = s.line.queue.Tickets()
	}
	if w.Uvarint(&tickets); tickets == 0 {
		return
	}
	if w.Reads() && s.line == nil {
		s.line = &line{}
	}
	s.line.queue.CodeBehind(w, tickets)
}

// MaxSize implements reducer.Cell. A queue that was used takes the number of its last
// ticket.
func (m *Machine) MaxSize() int {
	size := wire.HeaderSize + 8 + 2*wire.UvarintSize(half) + m.algorithm.maxSize() + 1
	if m.config.Queue > 0 {
		size += wire.UvarintSize(1<<64 - 1)
	}
	if m.block != nil {
		size += 8 + 2*wire.UvarintSize(half)
	}
	return size
}

func codeGeneration(w *wire.Coder, generation *uint64) {
	high, low := *generation>>32, *generation&half
	w.Uvarint(&high)
	w.Uvarint(&low)
	if high > half || low > half {
		w.Fail(errGeneration)
	}
	*generation = high<<32 | low
}
