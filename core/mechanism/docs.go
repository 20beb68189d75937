package mechanism

import (
	"strings"
	"time"
)

// Docs are the texts of a mechanism for people, in Markdown, and what lint needs
// to know of it. The JSON Schema and the tables of the reference page are made of
// the texts and of the row.
type Docs struct {
	// Means describes the mechanism in a sentence.
	Means string
	// Examples of the settings as a document in JSON has them.
	Examples []string
	// Settings has every setting of the row, each part behind its whole.
	Settings []Doc
	// Relations between the values of settings. New and the draft compare each of them, and so
	// does the reader in JavaScript.
	Relations []Relation
	// Schema is a JSON object with the conditions of the JSON Schema that do not
	// follow from the types: which settings exclude each other. Empty for none.
	Schema string
	// Describe describes a configuration in one line, defaults included.
	Describe func(Config, Step) string
	// Draft returns a draft of a configuration, to read its settings.
	Draft func(Config) Draft
	// Rank is the place in the usual order of steps from the outermost one on. 0
	// for a mechanism that has none.
	Rank uint8
	// Cut returns the time after which the mechanism cuts what is below it. Nil
	// for one that cuts nothing.
	Cut func(Config) time.Duration
	// Admits returns the most calls, each of a cost of 1 or more, that a cell
	// admits in any window of a length, both of its ends included. Nil for a
	// mechanism without such a bound.
	Admits func(Config, time.Duration) uint64
	// AtOnce returns the most permits that a cell gives at one instant. Nil for a
	// mechanism without Admits.
	AtOnce func(Config) uint64
	// Late reports whether the permits are taken at the end of a call alone, so that calls
	// which start together all pass. Nil for never.
	Late func(Config) bool
	// Covers reports whether the inner of two configurations of the mechanism admits every
	// call that the outer one admits, and says why. Nil for a mechanism of which that is
	// not known.
	Covers func(outer, inner Config) (Covered, bool)
	// Further returns which further attempts are made. Nil for a mechanism that makes none.
	Further func(Config) Further
	// Opens returns when a cell opens. Nil for a mechanism without modes.
	Opens func(Config) Opens
	// Waits says how a call waits in a proxy whose workers share cells. Empty for a
	// mechanism at which it asks again with each tick. Nil for always.
	Waits func(Config) string
	// Variant returns the part that a OneOf has. Nil for a mechanism without a OneOf.
	Variant func(Config) string
	// Adjust corrects the value of a setting whose meaning depends on other settings.
	// Nil for a mechanism without one.
	Adjust func(c Config, setting string, v *Value)
	// Lint reports what concerns this mechanism alone, in a policy around it. Nil for
	// nothing.
	Lint func(Config, Around)
	// Concurrent returns how many may hold a permit of a cell at once, and false
	// where more may run. Nil for a mechanism whose permits are not held.
	Concurrent func(Config) (uint64, bool)
}

// Setting returns the texts of a setting, nil for none.
func (d *Docs) Setting(name string) *Doc {
	for i := range d.Settings {
		if d.Settings[i].Name == name {
			return &d.Settings[i]
		}
	}
	return nil
}

// Relation says how the value of a setting compares with another value.
type Relation struct {
	// Setting whose value is compared, and which an error is about.
	Setting string
	// Op that must hold.
	Op Op
	// Than names the other setting, or is a value as a document has it, as in "50%".
	Than string
	// Says in an error what is allowed. A # stands for the value of the other setting.
	Says string
	// Document says that 0 has another meaning in a configuration: the draft alone compares.
	Document bool
	// Aside says that the other relations are compared, too, where the setting could not be
	// read. Relations that share a setting wait for all the others of their settings, and
	// an error is about the first of them that does not hold.
	Aside bool
}

// Op compares two values.
type Op uint8

// The comparisons.
const (
	AtMost Op = iota + 1
	AtLeast
	Below
)

// Doc is a setting: what the row has of it, where its value is in the configuration, and what
// people read about it. Texts that are empty follow from the row.
type Doc struct {
	// Name as for Row.Setting.
	Name string
	// Is the setting of the row, without its name and its parts.
	Is Setting
	// Field of the configuration, as in "WarmUp.Over". Types whose values have several fields
	// name each of them, with a comma between. Empty for a type without one.
	Field string
	// Beside names the setting beside which alone the default holds. Empty for one that always
	// does. The default of a part of a map holds where the map is there.
	Beside string
	// Depends says that WithDefaults has the default, because it depends on other values.
	Depends bool
	// Needed says that a configuration may not have the zero value, as for a required setting.
	Needed bool
	// ByHand says that New has the range, because it depends on other values.
	ByHand bool
	// With names the setting beside which a document in full has this one, whatever its value.
	// Its own name means always. Else a document in full has it where its value is not
	// the zero value.
	With string
	// Type and Range of the value.
	Type, Range string
	// Note behind the type: what the setting needs, or excludes.
	Note string
	// Value is the default in JSON. Empty where it depends on other settings, or
	// where there is none.
	Value string
	// Default says the default where Value does not say all.
	Default string
	// Example is an entry of the map of settings, as in "attempts: 5".
	Example string
	// Meaning of the value, and what a Larger and a Smaller one do.
	Meaning, Larger, Smaller string
	// Effect of a larger value.
	Effect Effect
}

// Effect is the effect of a change on the calls that pass and on the load of the
// dependency.
type Effect uint8

// The effects.
const (
	// Other changes something else, or something that depends on the calls.
	Other Effect = iota
	// Looser lets more calls pass, or waits or repeats more.
	Looser
	// Tighter lets fewer calls pass, or waits or repeats less.
	Tighter
)

// String returns the word for an effect.
func (e Effect) String() string {
	switch e {
	case Looser:
		return "looser"
	case Tighter:
		return "tighter"
	}
	return "other"
}

// MarshalText implements encoding.TextMarshaler.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// Inverse returns the effect of the change back.
func (e Effect) Inverse() Effect {
	switch e {
	case Looser:
		return Tighter
	case Tighter:
		return Looser
	}
	return Other
}

// Step is the place of a configuration in a policy, for a text about it.
type Step struct {
	// First says that it is the outermost step.
	First bool
	// EachAttempt says that each attempt passes it anew.
	EachAttempt bool
	// Methods that it repeats, where these are not the default ones.
	Methods []string
}

// MethodsText says which methods a step repeats, where that is not the default.
func (s Step) MethodsText() string {
	if len(s.Methods) == 0 {
		return ""
	}
	return ", methods " + strings.Join(s.Methods, " ")
}
