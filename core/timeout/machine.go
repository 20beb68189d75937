package timeout

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// Machine is an immutable timeout. Its state is one mark, kept by the call.
type Machine struct{ config Config }

// New validates the configuration.
func New(c Config) (*Machine, error) {
	var e reducer.ConfigErrors
	c.check(&e)
	if err := e.Err(); err != nil {
		return nil, err
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
