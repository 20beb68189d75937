package proptest

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/reducer/explore"
)

// The mutants of explored cells, and how they are stepped.

// crooked is a cell with one small defect. Fields that are nil are those of the
// cell.
type crooked[S any] struct {
	reducer.Cell[S]
	step   func(sound reducer.Cell[S], s *S, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer
	reduce func(sound reducer.Cell[S], s S, a reducer.Action, now clock.Mark) (S, reducer.Effects)
	decode func(sound reducer.Cell[S], src []byte) (S, error)
	wake   func(sound reducer.Cell[S], s S) (clock.Mark, bool)
	shift  func(sound reducer.Cell[S], s S, by time.Duration) S
}

func (c *crooked[S]) Step(s *S, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	if c.step == nil {
		return c.Cell.Step(s, a, now, out)
	}
	return c.step(c.Cell, s, a, now, out)
}

func (c *crooked[S]) Reduce(s S, a reducer.Action, now clock.Mark) (S, reducer.Effects) {
	if c.reduce != nil {
		return c.reduce(c.Cell, s, a, now)
	}
	if c.step == nil {
		return c.Cell.Reduce(s, a, now)
	}
	s = c.Cell.Clone(s)
	var out reducer.Out
	answer := c.Step(&s, a, now, &out)
	return s, reducer.Effects{Answer: answer, Others: out}
}

func (c *crooked[S]) DecodeState(src []byte) (S, error) {
	if c.decode == nil {
		return c.Cell.DecodeState(src)
	}
	return c.decode(c.Cell, src)
}

func (c *crooked[S]) NextWake(s S) (clock.Mark, bool) {
	if c.wake == nil {
		return c.Cell.NextWake(s)
	}
	return c.wake(c.Cell, s)
}

func (c *crooked[S]) Shift(s S, by time.Duration) S {
	if c.shift == nil {
		return c.Cell.Shift(s, by)
	}
	return c.shift(c.Cell, s, by)
}

// steps plants a defect of Step.
func steps[S any](step func(sound reducer.Cell[S], s *S, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer) defect[S] {
	return func(sound reducer.Cell[S]) reducer.Cell[S] { return &crooked[S]{Cell: sound, step: step} }
}

// reduces plants a defect of Reduce alone.
func reduces[S any](reduce func(sound reducer.Cell[S], s S, a reducer.Action, now clock.Mark) (S, reducer.Effects)) defect[S] {
	return func(sound reducer.Cell[S]) reducer.Cell[S] { return &crooked[S]{Cell: sound, reduce: reduce} }
}

// instead plants another cell.
func instead[S any](other reducer.Cell[S]) defect[S] {
	return func(reducer.Cell[S]) reducer.Cell[S] { return other }
}

// done is the result of a step.
type done[S any] struct {
	state  S
	answer reducer.Answer
	out    reducer.Out
}

// tried steps a clone.
func tried[S any](c reducer.Cell[S], s S, a reducer.Action, now clock.Mark) done[S] {
	d := done[S]{state: c.Clone(s)}
	d.answer = c.Step(&d.state, a, now, &d.out)
	return d
}

func (d done[S]) effects() string { return reducer.Effects{Answer: d.answer, Others: d.out}.String() }

// settled is a clone after all that is due at the mark: ends first, then the queue.
func settled[S any](c reducer.Cell[S], s S, now clock.Mark, out *reducer.Out) S {
	s = c.Clone(s)
	c.Step(&s, tick, now, out)
	for range explore.MaxCallers {
		if c.Step(&s, reducer.Action{Kind: reducer.Serve}, now, out).Verdict != reducer.Done {
			break
		}
	}
	return s
}
