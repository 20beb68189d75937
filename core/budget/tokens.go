package budget

import (
	"strconv"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// tokenBucket is a token-bucket budget: both rules of tokens are this bucket with other numbers.
// All are thousandths of a token.
type tokenBucket struct {
	capacity uint32
	floor    uint32 // retries are granted above it
	retry    uint32 // taken by a retry or a hedge
	timeout  uint32 // taken by a retry after a timeout
	fail     uint32 // taken by an attempt that fails
	refund   uint32 // returned by an attempt that took nothing and ends ok
}

const (
	thousandths = 1_000 // of a token
	millionths  = 1_000 // of a thousandth, in a share
)

// newBucket validates the configuration of a rule of tokens.
func newBucket(c *Config, e *reducer.ConfigErrors) (b tokenBucket) {
	most := uint32(MaxTokens)
	if c.Rule == Throttle {
		most = MaxThrottle
	}
	ratio := c.TokenRatio.Millionths()
	if c.Rule > Adaptive {
		e.Count(true, "budget.rule", uint64(c.Rule), "Windowed, Tokens, Throttle or Adaptive")
		return b
	}
	others := c.Rule == Tokens && ratio > 0 || c.Rule == Throttle && c.Retry+c.Timeout+c.Refund > 0
	e.Count(others || c.hasRatio() || c.hasRates() || c.Window != 0, "budget.rule", uint64(c.Rule), "the fields of its rule alone")
	wrong := c.Tokens == 0 || c.Tokens > most
	e.Count(wrong, "budget.tokens", uint64(c.Tokens), "1 to 1000000, of gRPC to 1000")
	b.capacity = c.Tokens * thousandths
	if c.Rule == Throttle {
		e.Share(ratio == 0 || ratio%millionths != 0 || ratio > MaxThrottle*reducer.Whole, "budget.token_ratio", c.TokenRatio, "0.1% to 100000% in thousandths of a whole")
		b.floor, b.fail, b.refund = b.capacity/2, thousandths, ratio/millionths
		return b
	}
	for _, part := range [...]struct {
		name string
		from uint32
		into *uint32
	}{{"budget.retry", c.Retry, &b.retry}, {"budget.timeout", c.Timeout, &b.timeout}, {"budget.refund", c.Refund, &b.refund}} {
		e.Count(part.from == 0 || !wrong && part.from > c.Tokens, part.name, uint64(part.from), "1 to the tokens")
		*part.into = part.from * thousandths
	}
	return b
}

// step is StepInto for a token-bucket budget. The permit of a grant names in ID what was
// taken, and the Release of its attempt returns that.
func (b *tokenBucket) step(answer *reducer.Answer, s *State, a *reducer.Action, now clock.Mark) {
	// A state from elsewhere may say that more is taken than there is.
	before, taken := s.Taken, min(s.Taken, b.capacity)
	switch a.Kind {
	case reducer.Acquire, reducer.TryAcquire, reducer.Peek:
		cost := b.retry
		if a.Outcome == reducer.Timeout {
			cost = b.timeout
		}
		left := b.capacity - taken
		if left < cost || left <= b.floor {
			answer.Verdict, answer.Reason, answer.Mark = reducer.Reject, reducer.ReasonBudget, clock.Never
			return
		}
		answer.Verdict, answer.Mark, answer.Free = reducer.Admit, now, b.free(left)
		if a.Kind != reducer.Peek {
			s.Taken += cost
			answer.Take(uint64(cost))
		}
	case reducer.Release:
		answer.Verdict = reducer.Done
		switch a.Outcome {
		case reducer.OK:
			gives := uint64(b.refund)
			if taken := a.Returns(); taken > 0 {
				gives = taken
			}
			s.Taken = taken - uint32(min(gives, uint64(taken)))
		case reducer.Fail, reducer.Throttle, reducer.Timeout:
			s.Taken = min(taken+b.fail, b.capacity)
		}
	case reducer.Record, reducer.Commit, reducer.Tick, reducer.Configure:
		answer.Verdict = reducer.Done
	case reducer.Reset:
		answer.Verdict = reducer.Done
		*s = State{}
	}
	answer.Changed = s.Taken != before
}

// free returns how many retries are granted if nothing else happens: those whose tokens
// are there, or, where retries take none, those of which every one fails.
func (b *tokenBucket) free(left uint32) uint32 {
	if b.retry > 0 {
		return left / b.retry
	}
	return (left - min(left, b.floor) + b.fail - 1) / b.fail
}

// appendThousandths appends thousandths as a number without zeros behind.
func appendThousandths(dst []byte, n uint32) []byte {
	dst = strconv.AppendUint(dst, uint64(n/thousandths), 10)
	if n %= thousandths; n > 0 {
		dst = append(dst, '.')
		for unit := uint32(thousandths / 10); n > 0; unit /= 10 {
			dst = append(dst, '0'+byte(n/unit))
			n %= unit
		}
	}
	return dst
}
