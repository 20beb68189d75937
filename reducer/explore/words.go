package explore

import (
	"strconv"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// The words of the scripts that the mechanisms are tested with.

// appendDeed writes what happens, as in "record id=1 fail". What the interpreter
// knows of the id, the permit and its cost, is left out.
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
		dst = append(append(dst, " to="...), d.mode(uint64(a.Cost))...)
	case (kind == asking || a.Kind == reducer.Peek) && a.Cost != 1 || kind == holding && a.Cost != 0:
		dst = strconv.AppendUint(append(dst, " cost="...), uint64(a.Cost), 10)
	}
	if a.Mark != 0 {
		dst = append(append(dst, " until="...), show(a.Mark)...)
	}
	return dst
}

func (d *desk[S]) mode(n uint64) string {
	if n < uint64(len(d.Modes)) {
		return d.Modes[n]
	}
	return strconv.FormatUint(n, 10)
}

// appendEffects writes what a step answers, and what it does to others.
func (d *desk[S]) appendEffects(dst []byte, deed Deed, e reducer.Effects) []byte {
	dst = appendAnswer(dst, deed.Action.Kind, e.Answer)
	for _, other := range e.Others {
		dst = append(dst, "; "...)
		dst = append(dst, other.Kind.String()...)
		switch other.Kind {
		case reducer.Change:
			dst = append(append(dst, " to "...), d.mode(other.Permit.ID)...)
			dst = append(append(dst, " at "...), show(other.Permit.Mark)...)
		default:
			dst = strconv.AppendUint(append(dst, ' '), other.Caller, 10)
		}
		if other.Reason != reducer.NoReason {
			dst = append(append(append(dst, " ("...), other.Reason.String()...), ')')
		}
	}
	return dst
}

func appendAnswer(dst []byte, kind reducer.Kind, a reducer.Answer) []byte {
	dst = append(dst, a.Verdict.String()...)
	if a.Reason != reducer.NoReason {
		dst = append(append(dst, ' '), a.Reason.String()...)
	}
	if at, ok := a.RetryAt(); ok {
		dst = append(append(dst, ", retry at "...), show(at)...)
	}
	if at, ok := a.Until(); ok {
		dst = append(append(dst, " until "...), show(at)...)
	}
	if a.Verdict == reducer.Wait && a.WaitEnds() != clock.Never {
		dst = append(append(dst, ", ends "...), show(a.WaitEnds())...)
	}
	if kind == reducer.Peek {
		dst = strconv.AppendUint(append(dst, ", free "...), uint64(a.Free), 10)
	}
	return dst
}

func (d *desk[S]) appendState(dst []byte, room Room[S], now clock.Mark) []byte {
	return d.Cell.AppendText(dst, room.State, now)
}
