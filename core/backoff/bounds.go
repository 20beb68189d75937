package backoff

import "time"

// DelaysBy returns the delays after the first n attempts with one and the same random word: 0
// gives the shortest, the greatest word the longest. A configuration that New refuses has
// none.
func (c Config) DelaysBy(n uint32, word uint64) []time.Duration {
	m, err := New(c)
	if err != nil {
		return nil
	}
	list := make([]time.Duration, 0, n)
	before := time.Duration(0)
	for k := range n {
		before = m.Delay(k+1, before, word)
		list = append(list, before)
	}
	return list
}

// longestDelay returns the longest delay after a first attempt.
func (c Config) longestDelay() (longest time.Duration) {
	for _, delay := range c.DelaysBy(1, 1<<64-1) {
		longest = delay
	}
	return longest
}

// Longest returns the longest delay after a first attempt, and after any attempt: the
// greatest duration where it has no bound. What grows does so until it is cut.
func (c Config) Longest() (first, longest time.Duration) {
	first = c.longestDelay()
	last := Config{Kind: Constant, Base: c.Base, Jitter: c.Jitter, Share: c.Share}
	switch {
	case c.Kind == Listed:
		last.Base = 0
		for i := range c.Delays.Len() {
			last.Base = max(last.Base, c.Delays.At(i))
		}
		if last.Base == 0 {
			return first, first
		}
	case c.Kind == Constant || c.Kind == Exponential && c.Factor == FactorOne:
		return first, first
	case c.Max == 0:
		return first, 1<<63 - 1
	case c.Kind == Decorrelated:
		last.Base = max(c.Base, c.Max)
	default:
		last.Base = c.Max
	}
	return first, last.longestDelay()
}
