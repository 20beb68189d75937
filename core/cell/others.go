package cell

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/reducer"
)

// ForBulkhead returns the maker of a bulkhead's cells.
func ForBulkhead(c bulkhead.Config) (Maker, error) {
	m, err := bulkhead.New(c)
	if err != nil {
		return nil, err
	}
	return &bulkheads{m}, nil
}

type bulkheads struct{ machine *bulkhead.Machine }

func (b *bulkheads) New(now clock.Mark) Cell {
	p := b.places()
	p.state.Last = now
	return p
}

func (b *bulkheads) Adopt(old Cell, now clock.Mark, _ *reducer.Out) Cell {
	from, ok := old.(*places)
	if !ok {
		return b.New(now)
	}
	p := b.places()
	p.state = from.state
	return p
}

func (b *bulkheads) places() *places {
	p := &places{}
	p.machine = b.machine
	return p
}

type places struct {
	box[bulkhead.State, *bulkhead.Machine]
}

// Enter implements Cell.
func (p *places) Enter(_ uint32, caller uint64, now clock.Mark) (reducer.Permit, bool) {
	return p.machine.Enter(&p.state, caller, now)
}

// Exit implements Cell.
func (p *places) Exit(permit reducer.Permit, now clock.Mark) bool {
	return p.machine.Exit(&p.state, permit, now)
}

// Revive is that of the box, without those who waited or held a place.
func (p *places) Revive(src []byte, by time.Duration) error {
	if err := p.box.Revive(src, by); err != nil {
		return err
	}
	p.state = bulkhead.State{Last: p.state.Last, Serial: p.state.Serial, Queue: p.state.Queue.Emptied()}
	return nil
}

// Step calls the machine directly, not through the box's type parameters.
func (p *places) Step(a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	return p.machine.Step(&p.state, a, now, out)
}

// Held implements Cell.
func (p *places) Held() bool { return p.state.Held > 0 || p.state.Queue.Len() > 0 }

func (p *places) Ends() clock.Mark { return p.machine.Lapses(&p.state) }

func (p *places) Serves() (clock.Mark, uint64) { return p.machine.Serves(&p.state) }

// ForBudget returns the maker of a retry budget's cells.
func ForBudget(m *budget.Machine) Maker { return &budgets{m} }

type budgets struct{ machine *budget.Machine }

type spending struct {
	box[budget.State, *budget.Machine]
}

func (b *budgets) New(clock.Mark) Cell { return b.spending() }

func (b *budgets) Adopt(old Cell, now clock.Mark, _ *reducer.Out) Cell {
	s := b.spending()
	if from, ok := old.(*spending); ok {
		s.state = b.machine.Adopt(from.state, from.machine)
	}
	return s
}

func (b *budgets) spending() *spending {
	s := &spending{}
	s.machine = b.machine
	return s
}

// ForBreaker returns the maker of a breaker's cells. They are of the large form,
// whatever the size: it differs from the small one in where the words are.
func ForBreaker(c breaker.Config) (Maker, error) {
	m, err := breaker.NewLarge(c)
	if err != nil {
		return nil, err
	}
	return &breakers{m}, nil
}

type breakers struct{ machine *breaker.Large }

func (b *breakers) New(clock.Mark) Cell { return b.circuit(0) }

func (b *breakers) Adopt(old Cell, now clock.Mark, out *reducer.Out) Cell {
	from, ok := old.(*circuit)
	if !ok {
		return b.New(now)
	}
	// What was due before happens under the old configuration.
	from.Step(reducer.Action{Kind: reducer.Tick}, now, out)
	c := b.circuit(int(from.state.Out))
	c.state.Core = from.state.Core
	b.machine.Adopt(&c.state.Core, c.state.Words, from.state.Words, from.machine.Config(), now, out)
	return c
}

// circuit makes a breaker with room for so many probes.
func (b *breakers) circuit(probes int) *circuit {
	c := &circuit{}
	c.machine = b.machine
	c.state.Words = make([]uint64, max(b.machine.Words(), probes))
	return c
}

type circuit struct {
	box[breaker.LargeState, *breaker.Large]
}

// Breaker returns the fields of a breaker's state that every size has, nil for
// a cell of another mechanism. They change with the cell; but for Shut they are
// to be read alone.
func Breaker(c Cell) *breaker.Core {
	if b, ok := c.(*circuit); ok {
		return &b.state.Core
	}
	return nil
}

// Step calls the machine directly, not through the box's type parameters.
func (c *circuit) Step(a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	return c.machine.Step(&c.state, a, now, out)
}

// Enter implements Cell.
func (c *circuit) Enter(_ uint32, _ uint64, now clock.Mark) (reducer.Permit, bool) {
	return c.state.Enter(now)
}

// Exit implements Cell.
func (c *circuit) Exit(p reducer.Permit, now clock.Mark) bool {
	return c.machine.Exit(&c.state, p, now)
}

// Revive is that of the box, without the probes that were out.
func (c *circuit) Revive(src []byte, by time.Duration) error {
	if err := c.box.Revive(src, by); err != nil {
		return err
	}
	breaker.Recall(&c.state.Core, c.state.Words)
	return nil
}

// Held implements Cell.
func (c *circuit) Held() bool { return c.state.Mode == breaker.HalfOpen && c.state.Out > 0 }

// Ends returns the mark at which probes that are out no longer count. All other
// changes of a breaker concern nobody before it is next stepped.
func (c *circuit) Ends() clock.Mark {
	if c.state.Mode != breaker.HalfOpen || c.state.Out == 0 {
		return clock.Never
	}
	return c.Wake()
}
