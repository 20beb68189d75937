package explore

import (
	"strconv"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// The words of the scripts that the mechanisms are tested with.

// appendDeed writes what happens, as in "record id=1 fail". It leaves out the permit
// and its cost, which the interpreter finds by the id.
func (d *desk[S]) appendDeed(dst []byte, deed Deed) []byte {
	a := deed.Action
	dst = append(dst, a.Kind.String()...)
	if deed.Caller > 0 {
		dst = strconv.AppendUint(append(dst, " id="...), deed.Caller, 10)
	}
	if a.Kind == reducer.Record {
		dst = append(append(dst, ' '), a.Outcome.String()...)
	}
	switch kind := about(a.Kind); {
	case a.Kind == reducer.Transition:
		dst = append(append(dst, " to="...), mode(uint64(a.Cost), d.Modes)...)
	case (kind == asking || a.Kind == reducer.Peek) && a.Cost != 1 || kind == holding && a.Cost != 0:
		dst = strconv.AppendUint(append(dst, " cost="...), uint64(a.Cost), 10)
	}
	if a.Mark != 0 {
		dst = append(append(dst, " until="...), MarkText(a.Mark)...)
	}
	return dst
}

// mode names what a change leads to, by its number where it has no name.
func mode(n uint64, modes []string) string {
	if n < uint64(len(modes)) {
		return modes[n]
	}
	return strconv.FormatUint(n, 10)
}

// appendEffects writes what a step answers, and what it does to others.
func (d *desk[S]) appendEffects(dst []byte, deed Deed, e reducer.Effects) []byte {
	dst = AppendAnswer(dst, deed.Action.Kind, e.Answer)
	for _, other := range e.Others {
		dst = AppendOther(append(dst, "; "...), other, d.Modes)
	}
	return dst
}

// AppendOther writes an effect of a step on another caller or on the cell, as scripts
// do. modes are the names of the states that a change leads to.
func AppendOther(dst []byte, e reducer.Effect, modes []string) []byte {
	dst = append(dst, e.Kind.String()...)
	if e.Kind == reducer.Change {
		dst = append(append(dst, " to "...), mode(e.Permit.ID, modes)...)
		dst = append(append(dst, " at "...), MarkText(e.Permit.Mark)...)
	} else {
		dst = strconv.AppendUint(append(dst, ' '), e.Caller, 10)
	}
	if e.Reason != reducer.NoReason {
		dst = append(append(append(dst, " ("...), e.Reason.String()...), ')')
	}
	return dst
}

// AppendAnswer writes what a step of an action of the kind answers, as scripts do.
func AppendAnswer(dst []byte, kind reducer.Kind, a reducer.Answer) []byte {
	dst = append(dst, a.Verdict.String()...)
	if a.Reason != reducer.NoReason {
		dst = append(append(dst, ' '), a.Reason.String()...)
	}
	if at, ok := a.RetryAt(); ok {
		dst = append(append(dst, ", retry at "...), MarkText(at)...)
	}
	if at, ok := a.Until(); ok {
		dst = append(append(dst, " until "...), MarkText(at)...)
	}
	if a.Verdict == reducer.Wait && a.WaitEnds() != clock.Never {
		dst = append(append(dst, ", ends "...), MarkText(a.WaitEnds())...)
	}
	if kind == reducer.Peek {
		dst = strconv.AppendUint(append(dst, ", free "...), uint64(a.Free), 10)
	}
	return dst
}

func (d *desk[S]) appendState(dst []byte, room Room[S], now clock.Mark) []byte {
	return d.values.AppendText(dst, room.State, now)
}
