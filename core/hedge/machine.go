package hedge

import "github.com/sluice-go/sluice/core/budget"

// Machine is an immutable hedge.
type Machine struct {
	config Config
	budget *budget.Machine
}

// New validates the configuration.
func New(c Config) (*Machine, error) {
	c = c.WithDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	m := &Machine{config: c}
	if c.Budgeted {
		var err error
		if m.budget, err = budget.New(c.Budget); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Config returns the configuration, its defaults in place of zeros.
func (m *Machine) Config() Config { return m.config }

// Budget returns the budget, nil for none.
func (m *Machine) Budget() *budget.Machine { return m.budget }
