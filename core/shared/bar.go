package shared

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// bar is a refusal that was read: what costs as much is refused until a mark, as no other
// worker can move the state back. What costs more comes back later, or never.
type bar struct {
	hash   Hash
	cost   uint32
	until  clock.Mark
	read   clock.Mark
	answer reducer.Answer
}

const (
	// keyedBars is how many bars a step with keys has, a power of two.
	keyedBars = 256
	// barAge is how long a bar is used before the state is read again, so that the slot
	// of a key that is refused all the time is seen to be in use.
	barAge = time.Second
)

// stepBarred is step for an acquire where permits are never returned.
func (s *cells) stepBarred(key *Key, a reducer.Action) (reducer.Answer, clock.Mark) {
	b := &s.bars[0]
	if key != nil {
		b = &s.bars[key.Hash[0]]
	}
	// Without a bar the clock is not read here.
	if b.until > 0 && a.Cost == b.cost && (key == nil || b.hash == key.Hash) {
		now := s.store.Now()
		if now < b.until && now.Sub(b.read) < barAge {
			return b.answer, now
		}
		*b = bar{}
	}
	answer, now, ok := s.try(key, a)
	if !ok {
		return reducer.Rejected(reducer.ReasonShed, clock.Never), now
	}
	if answer.Verdict == reducer.Admit {
		// What was refused comes back later from now on.
		*b = bar{}
	}
	if at, known := answer.RetryAt(); known && (answer.Reason == reducer.ReasonRate || answer.Reason == reducer.ReasonOpen) {
		*b = bar{cost: a.Cost, until: at, read: now, answer: answer}
		if key != nil {
			b.hash = key.Hash
		}
	}
	return answer, now
}
