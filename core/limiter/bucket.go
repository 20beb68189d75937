package limiter

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/core/wire"
	"github.com/sluice-go/sluice/reducer"
)

// Bucket is a token bucket without a queue, for small runtimes that have no other
// limiter: it decides as a Machine does, has the same states in bytes, and needs
// neither the queue nor the other algorithms.
type Bucket struct {
	Machine tokenbucket.Machine
	Bare    Bare
	// Last is the mark of the latest change.
	Last clock.Mark
}

// NewBucket returns a full bucket.
func NewBucket(m *tokenbucket.Machine, now clock.Mark) Bucket {
	return Bucket{Machine: *m, Bare: Bare{TAT: now, Generation: 1}, Last: now}
}

// TokenBucket returns the arithmetic of a token bucket without a warm-up, whose state its TAT is
// where nothing was refunded.
func (m *Machine) TokenBucket() *tokenbucket.Machine { return &m.algorithm.bucket }

// Step applies an action of a cost about a permit. Reserve, Settle and Drain are stale
// here.
func (b *Bucket) Step(answer *reducer.Answer, kind reducer.Kind, cost uint32, p *reducer.Permit, now clock.Mark) {
	now = max(now, b.Last)
	before, m := b.Bare, &b.Machine
	ok := true
	switch kind {
	case reducer.Acquire, reducer.TryAcquire:
		b.Bare.TAT, ok = m.Take(before.TAT, cost, now)
		b.admit(answer, ok, cost, now)
	case reducer.Peek:
		ok = cost == 0 || now != clock.Never && m.Turn(before.TAT, cost, now) == now
		b.admit(answer, ok, cost, now)
		if ok {
			answer.Permit = reducer.Permit{Mark: now}
		}
		answer.Free = m.Free(before.TAT, now)
	case reducer.Cancel:
		answer.Verdict = done(b.refund(cost, p, now))
	case reducer.Reset:
		void := count{generation: before.Generation}
		void.void()
		b.Bare = Bare{TAT: now, Generation: void.generation}
		answer.Verdict = reducer.Done
	case reducer.Tick, reducer.Commit, reducer.Release:
		answer.Verdict = reducer.Done
	}
	if b.Bare != before {
		answer.Changed = true
		b.Last = now
	}
}

// Adopt puts the bucket under another configuration, as Machine.Inherit does.
func (b *Bucket) Adopt(m *tokenbucket.Machine, now clock.Mark) {
	now = max(now, b.Last)
	before := tokenbucket.State{TAT: b.Bare.TAT, Refunded: b.Bare.Refunded}
	after := m.Adopt(before, &b.Machine, now)
	b.Machine, b.Bare.TAT, b.Bare.Refunded = *m, after.TAT, after.Refunded
	if after != before {
		b.Last = now
	}
}

// Class returns what Machine.Class does.
func (b *Bucket) Class(now clock.Mark) (reducer.Class, clock.Mark) {
	now = max(now, b.Last)
	if turn := b.Machine.Turn(b.Bare.TAT, 1, now); turn > now {
		return reducer.UsedUp, turn
	}
	if b.Bare.TAT > now {
		return reducer.InUse, b.Bare.TAT
	}
	return reducer.Unused, clock.Never
}

func (b *Bucket) admit(answer *reducer.Answer, ok bool, cost uint32, now clock.Mark) {
	if ok {
		id := uint64(b.Bare.TAT) + b.Bare.Refunded
		answer.Verdict, answer.Permit = reducer.Admit, reducer.Permit{Generation: b.Bare.Generation, ID: id, Mark: now}
		return
	}
	why := reducer.ReasonRate
	if cost > b.Machine.Capacity() {
		why = reducer.ReasonCapacity
	}
	reject(answer, why, b.Machine.Turn(b.Bare.TAT, cost, now))
}

func (b *Bucket) refund(cost uint32, p *reducer.Permit, now clock.Mark) bool {
	if p.Generation != b.Bare.Generation {
		return false
	}
	s, ok := b.Machine.Refund(tokenbucket.State{TAT: b.Bare.TAT, Refunded: b.Bare.Refunded}, p.ID, p.Mark, cost, now)
	b.Bare.TAT, b.Bare.Refunded = s.TAT, s.Refunded
	return ok
}

// BucketSize is the most bytes that the state of a Bucket has.
const BucketSize = wire.HeaderSize + 3*8 + 2*5 + 1

// AppendState appends the state as a Machine without waiters does.
func (b *Bucket) AppendState(dst []byte) []byte {
	w := wire.Writer(dst, tag, b.digest())
	b.code(&w)
	return w.Bytes()
}

// Restore replaces the state by an encoded one whose marks are shifted by a duration,
// or changes nothing and returns false. The state of a limiter in which callers have
// waited is not one of a Bucket.
func (b *Bucket) Restore(src []byte, by time.Duration) bool {
	r := wire.Reader(src, tag, b.digest())
	next := *b
	next.code(&r)
	if r.Close() != nil || next.Bare.Generation == 0 {
		return false
	}
	next.Last, next.Bare.TAT = next.Last.Add(by), next.Bare.TAT.Add(by)
	*b = next
	return true
}

func (b *Bucket) digest() uint32 { return digestOf(&b.Machine) }

func (b *Bucket) code(w *wire.Coder) {
	w.Mark(&b.Last)
	codeGeneration(w, &b.Bare.Generation)
	w.Mark(&b.Bare.TAT)
	w.U64(&b.Bare.Refunded)
	tickets := uint64(0)
	if w.Uvarint(&tickets); tickets != 0 {
		w.Refuse()
	}
}
