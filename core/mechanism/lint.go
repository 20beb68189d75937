package mechanism

import (
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Around is what the rules of lint that concern one mechanism ask about a step and the
// steps around it.
type Around interface {
	// Name of the step, and its Settings in one line.
	Name() string
	Settings() string
	// Enforced reports whether the step enforces what it decides.
	Enforced() bool
	// Keyed reports whether the step has a cell for each key.
	Keyed() bool
	// Run returns the longest duration that the step measures, Forever for no bound: an
	// attempt, or a call from its first attempt on above a retry.
	Run() time.Duration
	// AboveRetry reports whether the step is above the retry.
	AboveRetry() bool
	// Started returns the most requests that the policy starts in a window of a length for
	// one key of the step.
	Started(window time.Duration) uint64
	// Bounded reports whether another step bounds the calls as they start.
	Bounded() bool
	// Timed reports whether a timeout bounds the attempts.
	Timed() bool
	// Warn and Note report a finding by a rule of package lint. Mended is a part of a
	// document without the finding, empty for none.
	Warn(rule, message, mended string)
	Note(rule, message, mended string)
}

// Further says which further attempts a mechanism makes.
type Further struct {
	// Attempts of a call, the first included; of a mechanism that hedges, those beside the
	// first.
	Attempts uint32
	// After is the delay before an attempt starts beside another one, 0 for one that
	// durations decide. Parallel starts all of them at once.
	After    time.Duration
	Parallel bool
	// Elapsed is the longest time in which attempts start, 0 for no bound.
	Elapsed time.Duration
	// WaitsRefused says that refusals are waited for.
	WaitsRefused bool
}

// Opens says when a mechanism with modes opens, and for how long.
type Opens struct {
	// Failures is the least number of failures that opens it from its start.
	Failures uint32
	// FailuresAfterGood and SlowAfterGood are the least that open it after any number of
	// good outcomes, 0 for no such number.
	FailuresAfterGood, SlowAfterGood uint32
	Probes                           uint32
	// First is the longest that it stays open the first time, and Longest any time; Forever
	// for no bound.
	First, Longest time.Duration
	// Refuses says that it refuses calls without a change by hand.
	Refuses bool
}

// Covered says why a limit never refuses behind another one: in its Period the other one lets
// Passes calls pass, and it Allows as many or more.
type Covered struct {
	Period         time.Duration
	Passes, Allows uint64
	// Mended is a limit that refuses.
	Mended string
}

// Value is the value of a setting as lint compares and describes it.
type Value struct {
	// Field is what Draft.Field returns, or a list of methods.
	Field any
	Text  string
	// Effect of a larger value.
	Effect Effect
	// Endless says that it is larger than any other value.
	Endless bool
}

// OnePlace is the value of a cost of none at a step whose callers take one place.
func (v *Value) OnePlace() {
	if field := v.Field.(CostField); *field.Attribute == "" && *field.Permits == 0 {
		one := uint32(1)
		v.Field, v.Text = CostField{Attribute: field.Attribute, Permits: &one}, "1"
	}
}

// Forever is a time without a bound.
const Forever = time.Duration(1<<63 - 1)

// Plus returns a + b, at most Forever.
func Plus(a, b time.Duration) time.Duration {
	if a > Forever-b {
		return Forever
	}
	return a + b
}

// Times returns d x n, at most Forever.
func Times(d time.Duration, n uint32) time.Duration {
	high, low := bits.Mul64(uint64(d), uint64(n))
	if high > 0 || low > uint64(Forever) {
		return Forever
	}
	return time.Duration(low)
}

// Fill puts values in the places of a text, which are written as % in front of a d for a
// number and of an s for anything else. Package fmt is none that the core imports.
func Fill(text string, values ...any) string {
	var b strings.Builder
	for _, v := range values {
		before, after := text, ""
		for i := 0; i+1 < len(text); i++ {
			if text[i] == '%' && (text[i+1] == 'd' || text[i+1] == 's') {
				before, after = text[:i], text[i+2:]
				break
			}
		}
		b.WriteString(before)
		text = after
		switch v := v.(type) {
		case string:
			b.WriteString(v)
		case uint32:
			b.WriteString(Number(v))
		case uint64:
			b.WriteString(strconv.FormatUint(v, 10))
		case time.Duration:
			b.WriteString(Span(v))
		case interface{ String() string }:
			b.WriteString(v.String())
		}
	}
	b.WriteString(text)
	return b.String()
}
