package abi

import (
	"math"
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/wire"
	"github.com/sluice-go/sluice/reducer"
)

// numbers reads settings in plan bytes that are numbers alone, for the modules that
// planwire.Coder would make larger by a tenth.
type numbers struct {
	src   []byte
	wrong bool // one is cut off or above its maximum
}

// next reads a number up to a maximum.
func (v *numbers) next(most uint64) uint64 {
	n, size := wire.Number(v.src)
	v.src = v.src[size:]
	if size == 0 || n > most {
		v.wrong = true
		return 0
	}
	return n
}

func (v *numbers) word() uint8             { return uint8(v.next(math.MaxUint8)) }
func (v *numbers) count() uint32           { return uint32(v.next(math.MaxUint32)) }
func (v *numbers) duration() time.Duration { return time.Duration(v.next(math.MaxInt64)) }

// backoff reads a backoff and its jitter.
func (v *numbers) backoff() (c backoff.Config) {
	if c.Kind = backoff.Kind(v.word()); c.Kind == backoff.Listed {
		list := make([]time.Duration, v.next(backoff.MaxDelays))
		for i := range list {
			list[i] = v.duration()
		}
		c.Delays = backoff.Delays(list...)
	} else {
		c.Base, c.Factor, c.Max = v.duration(), backoff.Factor(v.count()), v.duration()
	}
	c.Jitter, c.Share = backoff.JitterKind(v.word()), reducer.Millionths(v.count())
	return c
}
