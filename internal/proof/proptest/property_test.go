package proptest

import (
	"errors"
	"fmt"

	"github.com/sluice-go/sluice/internal/testenv"
)

// property is a row that is checked on drawn histories. holds calls meet of the
// machine whenever a history reaches the situation of the row.
type property struct {
	name      string
	statement string
	holds     func(m machine, h history) error
	machines  []machine
	mutant    machine
}

// The size of a search: how many histories of at most how many words for a machine
// and for a mutant, and in how many of the machine's the check must apply.
const (
	cases, size             = 100, 80
	mutantCases, mutantSize = 600, 60
	rare                    = 10
)

// errRare says that a check hardly ever applied to a machine.
var errRare = errors.New("the check hardly ever applies to the drawn histories")

// properties makes rows of properties.
func properties(h how, lists ...[]property) (all []row) {
	for _, list := range lists {
		for _, p := range list {
			l := row{name: p.name, statement: p.statement, how: h, mutant: trial{p.mutant.name, func() error {
				return searched(mutantCases, mutantSize, false, func(h history) error { return p.holds(p.mutant, h) })
			}}}
			for _, m := range p.machines {
				l.machines = append(l.machines, trial{m.name, func() error { return p.try(m) }})
			}
			all = append(all, l)
		}
	}
	return all
}

// try searches on a machine.
func (p property) try(m machine) error {
	m.met = new(int)
	if err := searched(cases, size, true, func(h history) error { return p.holds(m, h) }); err != nil {
		return err
	}
	if *m.met < rare*testenv.Times() {
		return fmt.Errorf("SLUICE_SEED=%d: %s: %w: %d times", testenv.Seed(), p.name, errRare, *m.met)
	}
	return nil
}

// meet counts a history to which the check applies.
func (m machine) meet() {
	if m.met != nil {
		*m.met++
	}
}
