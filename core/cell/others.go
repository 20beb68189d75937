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
	return bulkheads{m}, nil
}

type bulkheads struct{ machine *bulkhead.Machine }

func (b bulkheads) New(now clock.Mark) Cell {
	return &places{box[bulkhead.State, *bulkhead.Machine]{b.machine, b.machine.Init(now)}}
}

func (b bulkheads) Adopt(old Cell, now clock.Mark, _ *reducer.Out) Cell {
	from, ok := old.(*places)
	if !ok {
		return b.New(now)
	}
	return &places{box[bulkhead.State, *bulkhead.Machine]{b.machine, from.state}}
}

type places struct {
	box[bulkhead.State, *bulkhead.Machine]
}

// Enter implements Cell.
func (p *places) Enter(_ uint32, caller uint64, now clock.Mark) (reducer.Permit, bool) {
	return p.machine.Enter(&p.state, caller, now)
}

// Exit implements Cell.
func (p *places) Exit(permit reducer.Permit, now clock.Mark, _ *reducer.Out) bool {
	return p.machine.Exit(&p.state, permit, now)
}

func (p *places) Revive(src []byte, by time.Duration) error {
	if err := p.box.Revive(src, by); err != nil {
		return err
	}
	p.state = bulkhead.State{Last: p.state.Last, Serial: p.state.Serial}
	return nil
}

// Step calls the machine directly, not through the box's type parameters.
func (p *places) Step(a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	return p.machine.Step(&p.state, a, now, out)
}

func (p *places) Ends() clock.Mark {
	at, _ := p.machine.NextLapse(&p.state)
	return at
}

func (p *places) Serves() (clock.Mark, uint64) {
	at, caller, _ := p.machine.NextServe(&p.state)
	return at, caller
}

// ForBudget returns the maker of a retry budget's cells.
func ForBudget(m *budget.Machine) Maker { return budgets{m} }

type budgets struct{ machine *budget.Machine }

func (b budgets) New(now clock.Mark) Cell {
	return &box[budget.State, *budget.Machine]{b.machine, b.machine.Init(now)}
}

func (b budgets) Adopt(old Cell, now clock.Mark, _ *reducer.Out) Cell {
	from, ok := old.(*box[budget.State, *budget.Machine])
	if !ok {
		return b.New(now)
	}
	return &box[budget.State, *budget.Machine]{b.machine, b.machine.Adopt(from.state, from.machine)}
}

// ForBreaker returns the maker of a breaker's cells.
func ForBreaker(c breaker.Config) (Maker, error) {
	large, err := breaker.NewLarge(c)
	if err != nil {
		return nil, err
	}
	b := breakers{large: large}
	if breaker.Fits(c) {
		if b.small, err = breaker.New(c); err != nil {
			return nil, err
		}
	}
	return b, nil
}

type breakers struct {
	small *breaker.Machine // nil when the configuration needs a large state
	large *breaker.Large
}

func (b breakers) New(now clock.Mark) Cell {
	if b.small != nil {
		return &smallBreaker{box[breaker.State, *breaker.Machine]{b.small, b.small.Init(now)}}
	}
	return &largeBreaker{box[breaker.LargeState, *breaker.Large]{b.large, b.large.Init(now)}}
}

// anyBreaker is a breaker's cell of either size.
type anyBreaker interface {
	parts() (core *breaker.Core, words []uint64, config breaker.Config)
}

func (b breakers) Adopt(old Cell, now clock.Mark, out *reducer.Out) Cell {
	from, ok := old.(anyBreaker)
	if !ok {
		return b.New(now)
	}
	// What was due before happens under the old configuration.
	old.Step(reducer.Action{Kind: reducer.Tick}, now, out)
	core, words, config := from.parts()
	if small := (breaker.State{Core: *core}); b.small != nil && int(core.Out) <= len(small.Words) {
		b.small.Adopt(&small.Core, small.Words[:], words, config, now, out)
		return &smallBreaker{box[breaker.State, *breaker.Machine]{b.small, small}}
	}
	large := breaker.LargeState{Core: *core, Words: make([]uint64, max(b.large.Words(), int(core.Out)))}
	b.large.Adopt(&large.Core, large.Words, words, config, now, out)
	return &largeBreaker{box[breaker.LargeState, *breaker.Large]{b.large, large}}
}

// Breaker returns the fields of a breaker's state that every size has, nil for
// a cell of another mechanism. They change with the cell; but for Shut they are
// to be read alone.
func Breaker(c Cell) *breaker.Core {
	if b, ok := c.(anyBreaker); ok {
		core, _, _ := b.parts()
		return core
	}
	return nil
}

// probesEnd returns the mark at which probes that are out no longer count. All
// other changes of a breaker concern nobody before it is next stepped.
func probesEnd(b Cell, core *breaker.Core) clock.Mark {
	if core.Mode != breaker.HalfOpen || core.Out == 0 {
		return clock.Never
	}
	return b.Wake()
}

type smallBreaker struct {
	box[breaker.State, *breaker.Machine]
}

// Step calls the machine directly, not through the box's type parameters.
func (b *smallBreaker) Step(a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	return b.machine.Step(&b.state, a, now, out)
}

// Enter implements Cell.
func (b *smallBreaker) Enter(_ uint32, _ uint64, now clock.Mark) (reducer.Permit, bool) {
	return b.machine.Enter(&b.state, now)
}

// Exit implements Cell.
func (b *smallBreaker) Exit(p reducer.Permit, now clock.Mark, out *reducer.Out) bool {
	return b.machine.Exit(&b.state, p, now, out)
}

func (b *smallBreaker) Revive(src []byte, by time.Duration) error {
	if err := b.box.Revive(src, by); err != nil {
		return err
	}
	breaker.Recall(&b.state.Core, b.state.Words[:])
	return nil
}

func (b *smallBreaker) Ends() clock.Mark { return probesEnd(b, &b.state.Core) }

func (b *smallBreaker) parts() (*breaker.Core, []uint64, breaker.Config) {
	return &b.state.Core, b.state.Words[:], b.machine.Config()
}

type largeBreaker struct {
	box[breaker.LargeState, *breaker.Large]
}

// Step calls the machine directly, not through the box's type parameters.
func (b *largeBreaker) Step(a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	return b.machine.Step(&b.state, a, now, out)
}

// Enter implements Cell.
func (b *largeBreaker) Enter(_ uint32, _ uint64, now clock.Mark) (reducer.Permit, bool) {
	return b.machine.Enter(&b.state, now)
}

// Exit implements Cell.
func (b *largeBreaker) Exit(p reducer.Permit, now clock.Mark, out *reducer.Out) bool {
	return b.machine.Exit(&b.state, p, now, out)
}

func (b *largeBreaker) Revive(src []byte, by time.Duration) error {
	if err := b.box.Revive(src, by); err != nil {
		return err
	}
	breaker.Recall(&b.state.Core, b.state.Words)
	return nil
}

func (b *largeBreaker) Ends() clock.Mark { return probesEnd(b, &b.state.Core) }

func (b *largeBreaker) parts() (*breaker.Core, []uint64, breaker.Config) {
	return &b.state.Core, b.state.Words, b.machine.Config()
}
