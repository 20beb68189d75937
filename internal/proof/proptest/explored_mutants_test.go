package proptest

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/reducer/explore"
)

// The mutants of explored cells, and how they are stepped.

// crooked is a cell with one small defect. A field that is nil leaves the method of the cell.
type crooked[S any] struct {
	reducer.Cell[S]
	step   func(sound reducer.Cell[S], s *S, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer
	clone  func(sound reducer.Cell[S], dst, src *S)
	decode func(sound reducer.Cell[S], src []byte, s *S) error
	due    func(sound reducer.Cell[S], s *S) reducer.Due
	move   func(sound reducer.Cell[S], s *S, by time.Duration)
}

func (c *crooked[S]) Step(s *S, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	if c.step == nil {
		return c.Cell.Step(s, a, now, out)
	}
	return c.step(c.Cell, s, a, now, out)
}

func (c *crooked[S]) Clone(dst, src *S) {
	if c.clone == nil {
		c.Cell.Clone(dst, src)
		return
	}
	c.clone(c.Cell, dst, src)
}

func (c *crooked[S]) Decode(src []byte, s *S) error {
	if c.decode == nil {
		return c.Cell.Decode(src, s)
	}
	return c.decode(c.Cell, src, s)
}

func (c *crooked[S]) Due(s *S) reducer.Due {
	if c.due == nil {
		return c.Cell.Due(s)
	}
	return c.due(c.Cell, s)
}

func (c *crooked[S]) Move(s *S, by time.Duration) {
	if c.move == nil {
		c.Cell.Move(s, by)
		return
	}
	c.move(c.Cell, s, by)
}

// steps plants a defect of Step.
func steps[S any](step func(sound reducer.Cell[S], s *S, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer) defect[S] {
	return func(sound reducer.Cell[S]) reducer.Cell[S] { return &crooked[S]{Cell: sound, step: step} }
}

// clones plants a defect of Clone.
func clones[S any](clone func(sound reducer.Cell[S], dst, src *S)) defect[S] {
	return func(sound reducer.Cell[S]) reducer.Cell[S] { return &crooked[S]{Cell: sound, clone: clone} }
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
	d := done[S]{state: reducer.ValuesOf(c).Clone(s)}
	d.answer = c.Step(&d.state, a, now, &d.out)
	return d
}

func (d done[S]) effects() string { return reducer.Effects{Answer: d.answer, Others: d.out}.String() }

// settled is a clone after all that is due at the mark: ends first, then the queue.
func settled[S any](c reducer.Cell[S], s S, now clock.Mark, out *reducer.Out) S {
	s = reducer.ValuesOf(c).Clone(s)
	c.Step(&s, tick, now, out)
	for range explore.MaxCallers {
		if c.Step(&s, reducer.Action{Kind: reducer.Serve}, now, out).Verdict != reducer.Done {
			break
		}
	}
	return s
}
