package breaker

import (
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/internal/tally"
	"github.com/sluice-go/sluice/core/wire"
	"github.com/sluice-go/sluice/reducer"
)

// MaxSize implements reducer.Cell. It holds where each probe is sent at a mark of its
// own: a probe takes up to two bytes more where others were sent at its mark, for its
// number among them.
func (m *Machine) MaxSize() int {
	number := wire.UvarintSize(tally.Max)
	opening := number + wire.UvarintSize(m.longestOpen())
	closed, open := 8+m.maxRow()+m.maxWindow(), opening+wire.UvarintSize(1<<64-1)
	return wire.HeaderSize + 1 + number + 8 + number + max(closed, open, opening+m.maxHalfOpen())
}

// maxRow returns the most bytes of a ramp and of the slow outcomes in a row.
func (m *Machine) maxRow() (n int) {
	if ramp := m.config.RampOver; ramp > 0 {
		n = wire.UvarintSize(uint64(ramp)) + wire.UvarintSize(reducer.Whole)
	}
	if m.config.SlowConsecutive > 0 {
		n += wire.UvarintSize(MaxCalls)
	}
	return n
}

// maxWindow returns the most bytes that codeWindow appends.
func (m *Machine) maxWindow() int {
	n := uint64(m.config.Count)
	switch m.config.Window {
	case Calls:
		return wire.UvarintSize(n) + wire.UvarintSize(n-1) + int(n+3)/4
	case Time:
		size := wire.UvarintSize(n) + 2*wire.UvarintsSize(n, tally.Max)
		if m.config.SlowOver == 0 {
			return size + int(n)
		}
		return size + wire.UvarintsSize(n, tally.Max)
	}
	if m.config.Forget > 0 {
		return wire.UvarintSize(tally.Max) + wire.UvarintSize(1<<64-1)
	}
	return wire.UvarintSize(tally.Max)
}

// maxHalfOpen returns the most bytes that codeHalfOpen appends: without an outcome, or
// with one and a pending probe less.
func (m *Machine) maxHalfOpen() int {
	n := uint64(m.config.Probes)
	number := wire.UvarintSize(n)
	probes := func(most uint64, each int) int {
		return number + max(1+wire.UvarintsSize(n, most)+int(n)*each, 3*number+wire.UvarintsSize(n-1, most)+int(n-1)*each)
	}
	if bound := m.config.HalfOpenMax; bound > 0 {
		return wire.UvarintSize(uint64(bound)) + wire.UvarintSize(maxSerial) + probes(maxSerial>>serialBits*2+n, 2)
	}
	return wire.UvarintSize(maxSince+m.longestOpen()) + 1 + probes(2*m.longestOpen(), 0)
}

// longestOpen returns the longest open time.
func (m *Machine) longestOpen() uint64 {
	c := &m.config.Open
	longest := uint64(m.delay.Longest(MaxGrowth))
	switch {
	case c.Kind == backoff.Decorrelated && c.Max > 0:
		longest = uint64(c.Max)
	case c.Kind == backoff.Decorrelated:
		longest = 1<<63 - 1
	case c.Jitter == backoff.Fraction:
		longest = min(2*longest, 1<<63-1)
	}
	return longest
}
