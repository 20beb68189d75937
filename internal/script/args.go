package script

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/reducer"
)

// Args are the words of a line: bare ones, and name=value pairs. Each is taken
// once; what is wrong with one, or left over at Close, fails the test.
type Args struct {
	t     testing.TB
	where string
	words []string
}

// NewArgs splits a line. where is its position, for errors.
func NewArgs(t testing.TB, where, line string) *Args {
	return &Args{t: t, where: where, words: strings.Fields(line)}
}

func (a *Args) copy() *Args { return &Args{t: a.t, where: a.where, words: slices.Clone(a.words)} }

// Fail fails the test at the line.
func (a *Args) Fail(format string, args ...any) {
	a.t.Helper()
	a.t.Fatalf(a.where+": "+format, args...)
}

// Word takes the next bare word, "" when there is none.
func (a *Args) Word() string {
	for i, word := range a.words {
		if !strings.Contains(word, "=") {
			a.words = append(a.words[:i:i], a.words[i+1:]...)
			return word
		}
	}
	return ""
}

// Is takes the bare word if it is there.
func (a *Args) Is(word string) bool {
	for i, w := range a.words {
		if w == word {
			a.words = append(a.words[:i:i], a.words[i+1:]...)
			return true
		}
	}
	return false
}

// Text takes the value of the name.
func (a *Args) Text(name string) (string, bool) {
	for i, word := range a.words {
		if value, ok := strings.CutPrefix(word, name+"="); ok {
			a.words = append(a.words[:i:i], a.words[i+1:]...)
			return value, true
		}
	}
	return "", false
}

// Has reports whether there is a value of the name.
func (a *Args) Has(name string) bool {
	return slices.ContainsFunc(a.words, func(word string) bool { return strings.HasPrefix(word, name+"=") })
}

// Count takes a number, or without one the default.
func (a *Args) Count(name string, without uint64) uint64 {
	text, ok := a.Text(name)
	if !ok {
		return without
	}
	v, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		a.Fail("%s=%s: %v", name, text, err)
	}
	return v
}

// Count32 is Count for 32 bits.
func (a *Args) Count32(name string, without uint32) uint32 {
	v := a.Count(name, uint64(without))
	if v > math.MaxUint32 {
		a.Fail("%s=%d: more than 32 bits", name, v)
	}
	return uint32(v)
}

// Duration takes a duration in Go's form; max is the longest, min the shortest.
func (a *Args) Duration(name string, without time.Duration) time.Duration {
	text, ok := a.Text(name)
	if !ok {
		return without
	}
	return a.duration(text)
}

func (a *Args) duration(text string) time.Duration {
	switch text {
	case "max":
		return math.MaxInt64
	case "min":
		return math.MinInt64
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		a.Fail("%v", err)
	}
	return d
}

// Mark takes a mark, see ParseMark.
func (a *Args) Mark(name string, without clock.Mark) clock.Mark {
	text, ok := a.Text(name)
	if !ok {
		return without
	}
	m, ok := ParseMark(text)
	if !ok {
		a.Fail("%s=%s is no mark", name, text)
	}
	return m
}

// ParseMark reads a duration since the origin, or one before never or after
// always, as in never-1ns.
func ParseMark(text string) (clock.Mark, bool) {
	origin := clock.Mark(0)
	if rest, ok := strings.CutPrefix(text, "never"); ok {
		origin, text = clock.Never, rest
	} else if rest, ok := strings.CutPrefix(text, "always"); ok {
		origin, text = clock.Always, rest
	}
	if text == "" {
		return origin, true
	}
	d, err := time.ParseDuration(text)
	return origin + clock.Mark(d), err == nil
}

// Rate takes a rate as in rate=50/1m.
func (a *Args) Rate(name string) (count uint32, period time.Duration) {
	text, ok := a.Text(name)
	if !ok {
		return 0, 0
	}
	left, right, _ := strings.Cut(text, "/")
	v, err := strconv.ParseUint(left, 10, 32)
	if err != nil {
		a.Fail("%s=%s: %v", name, text, err)
	}
	return uint32(v), a.duration(right)
}

// Share takes a percentage as in rate=50%.
func (a *Args) Share(name string) reducer.Share {
	text, ok := a.Text(name)
	if !ok {
		return reducer.Share{}
	}
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil {
		a.Fail("%s=%s: %v", name, text, err)
	}
	return reducer.Millionths(uint32(math.Round(v * 10_000)))
}

// Outcome takes an outcome by its name, 0 when there is none.
func (a *Args) Outcome() reducer.Outcome {
	word := a.Word()
	for o := reducer.Outcome(0); o <= reducer.Cancelled; o++ {
		if o.String() == word {
			return o
		}
	}
	a.Fail("unknown outcome %q", word)
	return 0
}

// Close fails the test when words are left over.
func (a *Args) Close() {
	a.t.Helper()
	if len(a.words) > 0 {
		a.Fail("cannot read %q", strings.Join(a.words, " "))
	}
}

// Backoff takes a backoff as in open=30s or open=exponential:1s,2,1m: the kind,
// the base, the factor of an exponential one, the longest delay; delays:1s,5s is a
// list; and jitter=
// full, equal or a percentage.
func (a *Args) Backoff(name string) backoff.Config {
	var c backoff.Config
	text, ok := a.Text(name)
	if !ok {
		return c
	}
	kind, rest, ok := strings.Cut(text, ":")
	if !ok {
		kind, rest = backoff.Constant.String(), text
	}
	for c.Kind = backoff.None; c.Kind.String() != kind; c.Kind++ {
		if c.Kind > backoff.Listed {
			a.Fail("unknown backoff %q", kind)
		}
	}
	settings := strings.Split(rest, ",")
	if c.Kind == backoff.Listed {
		list := make([]time.Duration, len(settings))
		for i := range settings {
			list[i] = a.duration(settings[i])
		}
		c.Delays = backoff.Delays(list...)
		a.jitter(&c)
		return c
	}
	c.Base = a.duration(settings[0])
	settings = settings[1:]
	if c.Kind == backoff.Exponential && len(settings) > 0 {
		factor, err := strconv.ParseFloat(settings[0], 64)
		if err != nil {
			a.Fail("factor: %v", err)
		}
		c.Factor = backoff.Factor(math.Round(factor * float64(backoff.FactorOne)))
		settings = settings[1:]
	}
	if len(settings) > 0 {
		c.Max = a.duration(settings[0])
	}
	a.jitter(&c)
	return c
}

func (a *Args) jitter(c *backoff.Config) {
	text, ok := a.Text("jitter")
	switch {
	case !ok:
	case text == "full":
		c.Jitter = backoff.Full
	case text == "equal":
		c.Jitter = backoff.Equal
	default:
		c.Jitter = backoff.Fraction
		a.words = append(a.words, "jitter="+text)
		c.Share = a.Share("jitter")
	}
}
