package reducer

import (
	"strconv"

	"github.com/sluice-go/sluice/clock"
)

// The text forms of actions, answers and effects: words and name=value pairs,
// one line, for people and for traces. Fields that are zero are left out, so
// that the forms are short, and every value has exactly one. A number represents
// a value that has no name.

var kindNames = [...]string{
	"", "acquire", "try", "peek", "reserve", "commit", "cancel", "release", "record",
	"leave", "expire", "renew", "tick", "serve", "drain", "transition", "reset",
	"settle", "observe", "configure",
}

var effectNames = [...]string{"", "grant", "drop", "lapse", "change"}

// String names the kind of action.
func (k Kind) String() string { return kindName(uint8(k)) }

// String names the kind of effect.
func (k EffectKind) String() string { return effectName(uint8(k)) }

// String returns the action as a trace writes it, as in "acquire cost=1 id=7".
func (a Action) String() string { return string(appendAction(nil, a)) }

// String returns the answer as a trace writes it, as in "reject rate retry=2s".
func (a Answer) String() string { return string(appendAnswer(nil, a)) }

// String returns the effect as a trace writes it, as in "drop wait caller=7".
func (e Effect) String() string { return string(appendEffect(nil, e)) }

// String returns the answer and what happened to others, as in
// "done; grant caller=7 gen=3 id=1 mark=2s".
func (e Effects) String() string { return string(appendEffects(nil, e)) }

func kindName(v uint8) string {
	if int(v) < len(kindNames) {
		return orNumber(kindNames[v], v)
	}
	return orNumber("", v)
}

func outcomeName(v uint8) string {
	if int(v) < len(outcomeNames) {
		return orNumber(outcomeNames[v], v)
	}
	return orNumber("", v)
}

func verdictName(v uint8) string {
	if int(v) < len(verdictNames) {
		return orNumber(verdictNames[v], v)
	}
	return orNumber("", v)
}

func reasonName(v uint8) string {
	if int(v) < len(reasonNames) {
		return orNumber(reasonNames[v], v)
	}
	return orNumber("", v)
}

func effectName(v uint8) string {
	if int(v) < len(effectNames) {
		return orNumber(effectNames[v], v)
	}
	return orNumber("", v)
}

func orNumber(name string, v uint8) string {
	if name == "" {
		return strconv.Itoa(int(v))
	}
	return name
}

// field is the name of a word of a permit. What the words mean depends on who
// writes them.
type field struct {
	name string
	mark bool // written as a mark
}

// fields of Generation, ID and Mark.
type fields [3]field

var (
	permitFields = fields{{"gen", false}, {"id", false}, {"mark", true}}
	rejectFields = fields{{"gen", false}, {"id", false}, {"retry", true}}
	waitFields   = fields{{"ends", true}, {"ticket", false}, {"turn", true}}
)

func (v Verdict) fields() fields {
	switch v {
	case Reject:
		return rejectFields
	case Wait:
		return waitFields
	}
	return permitFields
}

func appendAction(dst []byte, a Action) []byte {
	dst = append(dst, a.Kind.String()...)
	dst = appendWord(dst, outcomeName, uint8(a.Outcome))
	dst = appendCount(dst, "priority", uint64(a.Priority))
	dst = appendCount(dst, "cost", uint64(a.Cost))
	permit := a.Permit
	if a.flags&hasDeadline != 0 {
		permit.Mark = 0
	}
	dst = appendPermit(dst, permitFields, permit)
	if a.flags&hasDeadline != 0 {
		dst = append(append(dst, " deadline="...), a.Mark.String()...)
	}
	dst = appendCount(dst, "value", a.Value)
	if a.flags&noBlock != 0 {
		dst = append(dst, " unblocked"...)
	}
	return dst
}

func appendAnswer(dst []byte, a Answer) []byte {
	dst = append(dst, verdictName(uint8(a.Verdict))...)
	dst = appendWord(dst, reasonName, uint8(a.Reason))
	dst = appendCount(dst, "free", uint64(a.Free))
	dst = appendPermit(dst, a.Verdict.fields(), a.Permit)
	if a.Changed {
		dst = append(dst, " changed"...)
	}
	return dst
}

func appendEffect(dst []byte, e Effect) []byte {
	dst = append(dst, e.Kind.String()...)
	dst = appendWord(dst, reasonName, uint8(e.Reason))
	dst = appendCount(dst, "caller", e.Caller)
	return appendPermit(dst, permitFields, e.Permit)
}

func appendEffects(dst []byte, e Effects) []byte {
	dst = appendAnswer(dst, e.Answer)
	for _, other := range e.Others {
		dst = appendEffect(append(dst, "; "...), other)
	}
	return dst
}

// appendWord appends a name after a blank, and nothing for zero.
func appendWord(dst []byte, name func(uint8) string, v uint8) []byte {
	if v == 0 {
		return dst
	}
	return append(append(dst, ' '), name(v)...)
}

// appendCount appends " name=v", and nothing for zero.
func appendCount(dst []byte, name string, v uint64) []byte {
	if v == 0 {
		return dst
	}
	dst = append(append(append(dst, ' '), name...), '=')
	return strconv.AppendUint(dst, v, 10)
}

func appendPermit(dst []byte, names fields, p Permit) []byte {
	for i, v := range [...]uint64{p.Generation, p.ID, uint64(p.Mark)} {
		if !names[i].mark {
			dst = appendCount(dst, names[i].name, v)
		} else if v != 0 {
			dst = append(append(append(dst, ' '), names[i].name...), '=')
			dst = append(dst, clock.Mark(v).String()...)
		}
	}
	return dst
}
