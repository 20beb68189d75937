package timeout

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// Machine is an immutable timeout. Its state is one mark, kept by the call.
type Machine struct{ config Config }

// New validates the configuration.
func New(c Config) (*Machine, error) {
	switch {
	case c.After <= 0:
		return nil, reducer.BadDuration("after", c.After, "more than 0")
	case c.Soft < 0 || c.Soft >= c.After:
		return nil, reducer.BadDuration("soft", c.Soft, "less than after")
	}
	return &Machine{config: c}, nil
}

// Deadline returns the mark at which what began at start is cut.
func (m *Machine) Deadline(start clock.Mark) clock.Mark { return start.Add(m.config.After) }

// Warn returns the mark at which what began at start is worth a warning,
// clock.Never without a soft limit.
func (m *Machine) Warn(start clock.Mark) clock.Mark {
	if m.config.Soft == 0 {
		return clock.Never
	}
	return start.Add(m.config.Soft)
}
