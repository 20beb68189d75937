package reducer

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/clock"
)

// ErrText is wrapped by every error of a reader of text forms and traces.
var ErrText = errors.New("not a trace")

// ParseAction reads what Action.String writes.
func ParseAction(text string) (Action, error) {
	p := newPhrase(text)
	a := Action{Kind: Kind(p.word(kindName, true)), Outcome: Outcome(p.word(outcomeName, false))}
	priority := p.count("priority")
	if priority > MaxPriority {
		p.fail("priority")
	}
	a.Priority = uint8(priority)
	a.Cost = p.count32("cost")
	a.Permit = p.permit(permitFields)
	if value, ok := p.pair("deadline"); ok {
		at, known := parseMark(value)
		if !known || a.Mark != 0 {
			p.fail("deadline=" + value)
		}
		a = a.WithDeadline(at)
	}
	a.Value = p.count("value")
	if p.flag("unblocked") {
		a = a.WithoutBlock()
	}
	return a, p.close()
}

// ParseEffects reads what Effects.String writes.
func ParseEffects(text string) (Effects, error) {
	head, rest, more := strings.Cut(text, "; ")
	p := newPhrase(head)
	e := Effects{Answer: Answer{Verdict: Verdict(p.word(verdictName, true)), Reason: Reason(p.word(reasonName, false))}}
	e.Answer.Free = p.count32("free")
	e.Answer.Permit = p.permit(e.Answer.Verdict.fields())
	e.Answer.Changed = p.flag("changed")
	if err := p.close(); err != nil {
		return Effects{}, err
	}
	for more {
		head, rest, more = strings.Cut(rest, "; ")
		p := newPhrase(head)
		other := Effect{Kind: EffectKind(p.word(effectName, true)), Reason: Reason(p.word(reasonName, false))}
		other.Caller = p.count("caller")
		other.Permit = p.permit(permitFields)
		if err := p.close(); err != nil {
			return Effects{}, err
		}
		e.Others = append(e.Others, other)
	}
	return e, nil
}

// phrase reads the words of a text form in their order and remembers the first
// thing that is wrong.
type phrase struct {
	words []string
	wrong string
}

func newPhrase(text string) *phrase { return &phrase{words: strings.Split(text, " ")} }

func (p *phrase) fail(word string) {
	if p.wrong == "" {
		p.wrong = strconv.Quote(word)
	}
}

// word takes a name or a number. One that may be missing is left where the next
// word is something else.
func (p *phrase) word(name func(uint8) string, required bool) uint8 {
	if len(p.words) == 0 {
		return 0
	}
	word := p.words[0]
	for v := range 256 {
		if name(uint8(v)) == word && (required || v > 0) {
			p.words = p.words[1:]
			return uint8(v)
		}
	}
	if required {
		p.fail(word)
	}
	return 0
}

// flag takes a word if it is the next one.
func (p *phrase) flag(name string) bool {
	if len(p.words) == 0 || p.words[0] != name {
		return false
	}
	p.words = p.words[1:]
	return true
}

// pair takes the value of the next word if the word has the name.
func (p *phrase) pair(name string) (string, bool) {
	if len(p.words) == 0 {
		return "", false
	}
	found, value, ok := strings.Cut(p.words[0], "=")
	if !ok || found != name {
		return "", false
	}
	p.words = p.words[1:]
	return value, true
}

func (p *phrase) count(name string) uint64 {
	value, ok := p.pair(name)
	if !ok {
		return 0
	}
	v, err := strconv.ParseUint(value, 10, 64)
	if err != nil || v == 0 || strconv.FormatUint(v, 10) != value {
		p.fail(name + "=" + value)
	}
	return v
}

func (p *phrase) count32(name string) uint32 {
	v := p.count(name)
	if v > 1<<32-1 {
		p.fail(name)
	}
	return uint32(v)
}

func (p *phrase) permit(names fields) Permit {
	var v [3]uint64
	for i, f := range names {
		if !f.mark {
			v[i] = p.count(f.name)
			continue
		}
		if value, ok := p.pair(f.name); ok {
			mark, known := parseMark(value)
			if !known || mark == 0 {
				p.fail(f.name + "=" + value)
			}
			v[i] = uint64(mark)
		}
	}
	return Permit{Generation: v[0], ID: v[1], Mark: clock.Mark(v[2])}
}

func (p *phrase) close() error {
	if len(p.words) > 0 {
		p.fail(p.words[0])
	}
	if p.wrong != "" {
		return textError("cannot read " + p.wrong)
	}
	return nil
}

func textError(why string) error { return errors.Join(ErrText, errors.New(why)) }

// parseMark reads what clock.Mark.String writes, and nothing else.
func parseMark(text string) (clock.Mark, bool) {
	switch text {
	case clock.Never.String():
		return clock.Never, true
	case clock.Always.String():
		return clock.Always, true
	}
	digits, negative := strings.CutPrefix(text, "-")
	sum := uint64(0)
	for digits != "" {
		end := strings.IndexFunc(digits, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
		if end <= 0 {
			return 0, false
		}
		number := digits[:end]
		digits = digits[end:]
		unit, length := unitOf(digits)
		digits = digits[length:]
		sum += parseDecimal(number, uint64(unit))
	}
	m := clock.Mark(sum)
	if negative {
		m = -m
	}
	// Whatever was read wrongly above is not what is written for its value.
	return m, m.String() == text
}

// unitOf returns the unit that the text begins with, and the unit's length.
func unitOf(text string) (time.Duration, int) {
	for _, u := range [...]struct {
		name string
		unit time.Duration
	}{
		{"ns", time.Nanosecond}, {"µs", time.Microsecond}, {"ms", time.Millisecond},
		{"s", time.Second}, {"m", time.Minute}, {"h", time.Hour},
	} {
		if strings.HasPrefix(text, u.name) {
			return u.unit, len(u.name)
		}
	}
	return 0, len(text)
}

// parseDecimal returns number x unit. What is not a number, or too large for
// one, gives some value.
func parseDecimal(number string, unit uint64) uint64 {
	whole, fraction, _ := strings.Cut(number, ".")
	v, _ := strconv.ParseUint(whole, 10, 64)
	v *= unit
	for i := range len(fraction) {
		unit /= 10
		v += uint64(fraction[i]-'0') * unit
	}
	return v
}
