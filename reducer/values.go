package reducer

import (
	"time"

	"github.com/sluice-go/sluice/clock"
)

// Values is the value form of a cell: it takes and returns states as values, and never
// changes a given one. Tests, explorations, vectors and examples use it; runners step in place. Each
// method calls the machine, so that what is proved is what runs.
type Values[S any] struct{ Cell[S] }

// ValuesOf returns the value form of a machine.
func ValuesOf[S any](machine Cell[S]) Values[S] { return Values[S]{machine} }

// Init implements Machine.
func (v Values[S]) Init(now clock.Mark) (s S) {
	v.Cell.Begin(&s, now)
	return s
}

// Reduce implements Machine: it steps a clone.
func (v Values[S]) Reduce(s S, action Action, now clock.Mark) (S, Effects) {
	s = v.Clone(s)
	var out Out
	answer := v.Cell.Step(&s, action, now, &out)
	return s, Effects{Answer: answer, Others: out}
}

// NextWake implements Machine.
func (v Values[S]) NextWake(s S) (clock.Mark, bool) {
	at := v.Cell.Due(&s).Wake
	return at, at != clock.Never
}

// Clone returns a state that shares no memory with the given one.
func (v Values[S]) Clone(s S) (clone S) {
	v.Cell.Clone(&clone, &s)
	return clone
}

// Adopt returns a clone under the configuration of this machine, and appends to out what
// Inherit does.
func (v Values[S]) Adopt(s S, from Cell[S], now clock.Mark, out *Out) S {
	s = v.Clone(s)
	v.Cell.Inherit(&s, from, now, out)
	return s
}

// Shift returns a clone moved along the line of marks.
func (v Values[S]) Shift(s S, by time.Duration) S {
	s = v.Clone(s)
	v.Cell.Move(&s, by)
	return s
}

// Fresh reports whether a state at now is Unused, so that a keyed runner may evict it without
// an effect on decisions.
func (v Values[S]) Fresh(s S, now clock.Mark) bool {
	class, _ := v.Cell.Class(&s, now)
	return class == Unused
}

// Check returns an error that names the invariant that the state breaks.
func (v Values[S]) Check(s S) error { return v.Cell.Check(&s) }

// AppendState appends the stable binary form of the state.
func (v Values[S]) AppendState(dst []byte, s S) []byte { return v.Cell.Encode(dst, &s) }

// DecodeState returns the state that AppendState wrote. After an error it is zero.
func (v Values[S]) DecodeState(src []byte) (S, error) {
	var s, zero S
	if err := v.Cell.Decode(src, &s); err != nil {
		return zero, err
	}
	return s, nil
}

// AppendText appends the one-line form of the state at now.
func (v Values[S]) AppendText(dst []byte, s S, now clock.Mark) []byte {
	return v.Cell.AppendText(dst, &s, now)
}
