package keyedcells

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// bucket is the cell.Cell of a token bucket in a shard.
type bucket struct {
	s     *shard
	index uint32
}

// Step implements cell.Cell.
func (b *bucket) Step(a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	state := b.s.bucket(b.index)
	answer := b.s.config.Bucket.Step(&state, a, now, out)
	if answer.Changed {
		b.s.setBucket(b.index, &state)
	}
	return answer
}

// Enter implements cell.Cell.
func (b *bucket) Enter(cost uint32, _ uint64, _, now clock.Mark) (reducer.Permit, bool) {
	s := b.s
	bare := s.bare(b.index)
	permit, ok := bare.Enter(s.config.Bucket, cost, max(now, s.last))
	if ok {
		*s.table.Word(b.index), s.last = uint64(bare.TAT), permit.Mark
	}
	return permit, ok
}

// Exit implements cell.Cell.
func (b *bucket) Exit(reducer.Permit, clock.Mark) bool { return false }

// Due implements cell.Cell.
func (b *bucket) Due() reducer.Due { return reducer.NothingDue() }

// Class implements cell.Cell.
func (b *bucket) Class(now clock.Mark) (reducer.Class, clock.Mark) {
	state := b.s.bucket(b.index)
	return b.s.config.Bucket.Class(&state, now)
}

// Held implements cell.Cell.
func (b *bucket) Held() bool { return false }

// AppendState implements cell.Cell.
func (b *bucket) AppendState(dst []byte) []byte {
	state := b.s.bucket(b.index)
	return b.s.config.Bucket.Encode(dst, &state)
}

// Restore implements cell.Cell.
func (b *bucket) Restore(src []byte) error { return b.Revive(src, 0) }

// Revive implements cell.Cell.
func (b *bucket) Revive(src []byte, by time.Duration) error {
	var state limiter.State
	err := b.s.config.Bucket.Decode(src, &state)
	if err == nil {
		b.s.config.Bucket.Move(&state, by)
		b.s.setBucket(b.index, &state)
	}
	return err
}
