package mechanism

import (
	"time"

	"github.com/sluice-go/sluice/core/calendar"
	"github.com/sluice-go/sluice/reducer"
)

// Row has what readers of documents need to know of one mechanism, and its traits. A
// mechanism's folder has its row; package mechanisms lists them. Texts for people
// that no runtime needs are in Docs.
type Row struct {
	// Kind is the mechanism.
	Kind Kind
	// Traits say how a call uses the mechanism, and what the mechanism does to the
	// call.
	Traits Traits
	// Settings in the order in which errors list them.
	Settings []Setting
	// Short names the setting whose value may be written in place of the map of
	// settings. Empty for a mechanism without a short form.
	Short string
	// Like names the setting that such a value may have meant where there is no
	// short form. Empty for none.
	Like string
	// Form says in an error what is allowed in place of the map of settings.
	Form string
	// Below is the mechanism that must not follow below this one. 0 for none.
	Below Kind
	// New returns a draft with the defaults of a document.
	New func() Draft
	// Stateless says why a configuration needs no cells, as "on a timeout, which
	// keeps no state". Empty for one that needs them. Nil for a mechanism whose
	// every configuration needs them.
	Stateless func(Config) string
}

// Facts are what programs that run a mechanism need to know of it, beside its row: drivers,
// metrics, bindings, the simulator and the filter of a proxy. A reader of documents does not
// link them.
type Facts struct {
	// Reasons with which a cell of every configuration may refuse a call.
	Reasons []reducer.Reason
	// Queue returns the queue of a cell. Nil for a mechanism at which no call waits.
	Queue func(Config) Queue
	// Permits returns the permits of a cell. Nil for a mechanism without a rate.
	Permits func(Config) Permits
	// Lease returns how long a holder that does not renew it keeps a permit, 0 for
	// as long as it runs. Nil for a mechanism without leases.
	Lease func(Config) time.Duration
	// Slow returns the duration above which the mechanism counts an attempt as slow,
	// 0 for none. Nil for a mechanism that counts none.
	Slow func(Config) time.Duration
	// Envoy says what of Envoy does the same, where the filter of a proxy does not perform
	// the mechanism. Empty for nothing.
	Envoy string
}

// Queue is the queue of a cell.
type Queue struct {
	// Places is how many calls may wait.
	Places uint32
	// Wait is the longest that a call waits, 0 for as long as its caller does.
	Wait time.Duration
	// Newest says that the call which came last is served first.
	Newest bool
}

// Permits are the permits that a cell gives.
type Permits struct {
	// Count permits for each Period.
	Count  uint32
	Period time.Duration
	// Burst is the most permits that are free at one instant.
	Burst uint32
}

// Setting returns the setting of a name, nil for none. The name of a part has
// the name of the whole and a dot in front, as in "slow.over".
func (r *Row) Setting(name string) *Setting { return find(r.Settings, name) }

func find(settings []Setting, name string) *Setting {
	for i := range settings {
		s := &settings[i]
		if s.Name == name {
			return s
		}
		if n := len(s.Name); len(name) > n && name[n] == '.' && name[:n] == s.Name {
			return find(s.Parts, name[n+1:])
		}
	}
	return nil
}

// Traits are facts about a mechanism, a configuration of it, or a step of a policy.
type Traits uint32

// MaxTraits is how many traits there may be.
const MaxTraits = 32

// The traits that hold for all configurations of a mechanism.
const (
	// Asks: a call asks a cell for a permit.
	Asks Traits = 1 << iota
	// Refunds: a cancelled call returns its permit.
	Refunds
	// Votes: the mechanism counts the outcome of an attempt.
	Votes
	// Holds: an attempt holds its permit until it ends.
	Holds
	// Quotas: a refusal means that the caller asked for too much, not that
	// something fails; HTTP answers it with 429.
	Quotas
	// Leases: a permit may lapse.
	Leases
	// Observes: the cell receives the durations of attempts.
	Observes
	// Keyed: a configuration may have cells, and one for each key.
	Keyed
	// Cuts: the mechanism ends calls at a mark.
	Cuts
	// Repeats: the mechanism makes further attempts after a failure. At most one
	// step of a policy has a mechanism that does.
	Repeats
	// Hedges: the mechanism makes further attempts beside one that runs. At most
	// one step of a policy has a mechanism that does.
	Hedges
	// Modes: a cell has the mode of a breaker, and no number of free permits.
	Modes
	// Injects: the mechanism takes the place of the dependency for some attempts. At
	// most one step of a policy has a mechanism that does, and it is the last one.
	Injects

	configurationTraits = iota
)

// The traits of a configuration.
const (
	// Queues: calls may wait at a cell.
	Queues Traits = 1 << (configurationTraits + iota)
	// Lapses: a permit has a lease.
	Lapses
	// Obeys: the cell takes the retry-after of an outcome.
	Obeys
	// Timed: the cell takes the time that an attempt has.
	Timed
	// Costs: the mechanism has a cost of its own.
	Costs
	// Priced: an attribute of the call has that cost.
	Priced
	// Settles: the end of an attempt settles the permits that it took.
	Settles
	// SettlesAll: the mechanism takes nothing before the end of the attempt.
	SettlesAll

	stepTraits = configurationTraits + iota
)

// The traits of a step.
const (
	// PerKey: the step has a cell for each key.
	PerKey Traits = 1 << (stepTraits + iota)
	// Strict: the step denies or skips a call that lacks an attribute of its key.
	Strict
	// Shadow: the step enforces nothing.
	Shadow
	// Conditional: the step applies to some calls alone.
	Conditional
	// Partial: the step enforces for a share of the calls.
	Partial
	// ShareByAttribute: an attribute decides which calls the share has.
	ShareByAttribute
)

// If returns the traits where a condition holds, and none elsewhere.
func (t Traits) If(holds bool) Traits {
	if holds {
		return t
	}
	return 0
}

// Has reports whether all of some traits are there.
func (t Traits) Has(some Traits) bool { return t&some == some }

// Fieldless reports whether settings of the type have no field of the draft.
func (t Type) Fieldless() bool { return t == Methods || t == Attribute || t == Rates }

// AttributeText is what every error about an attribute of a call allows.
const AttributeText = "key, ip, header:NAME, cookie:NAME, query:NAME, host, method, path or route"

// Type is the form of a setting's value in a document, and says what Draft.Field
// returns for it.
type Type uint8

// The types, each with its field.
const (
	// Duration is a *time.Duration of at least Least, which is 0 or 1.
	Duration Type = iota + 1
	// Count is a *uint32 from Least to Most.
	Count
	// Share is a *reducer.Share of more than 0 and at most the whole.
	Share
	// Chance is a *reducer.Share of at most the whole, 0 included.
	Chance
	// Bool is a *bool.
	Bool
	// Word is a *uint8: the index of one of Words.
	Word
	// Words, one of some words or a list of them, is a WordsField.
	Words
	// Rate, by a duration or by a unit of the calendar, is a RateField.
	Rate
	// Delay, a duration or a percentile, is a DelayField.
	Delay
	// Bound, a duration or a share of the time that an attempt has, is a BoundField.
	Bound
	// Backoff is a *backoff.Config without its jitter.
	Backoff
	// OpenTime, a duration or a backoff with its jitter, is a *backoff.Config.
	OpenTime
	// BlockTime, a duration or a backoff without randomness, is a *backoff.Config.
	BlockTime
	// Jitter is the *backoff.Config of the backoff that it belongs to, which is
	// before it.
	Jitter
	// Budget, which may be none, is a budget.Field.
	Budget
	// Methods, a list of HTTP methods, has no field: the document keeps it.
	Methods
	// Cost, a whole number from Least to Most, an attribute, or a map of an attribute
	// and a default from 0 to Most, is a CostField.
	Cost
	// Attribute, one of a call, has no field: the step keeps it.
	Attribute
	// Rates, a map of the values of an attribute and their rates, has no field: the step of
	// each class has the rate of its own.
	Rates
	// Zone, the time zone of a rate by the calendar, is a ZoneField.
	Zone
	// Map is a map of Parts, each of which has a field of its own.
	Map
	// OneOf is a map of Parts of which one Variant is given, and what belongs to
	// it: the parts behind it up to the next variant. It is a *uint8, the index of the
	// variant.
	OneOf
)

// RateField takes a rate.
type RateField struct {
	Count  *uint32
	Period *time.Duration
	Unit   *calendar.Unit // of a rate by the calendar, whose period is Unit.Length
}

// ZoneField takes the zone of a rate by the calendar.
type ZoneField struct{ Zone *calendar.Zone }

// WordsField takes a set: a bit for each of Words, and 0 for all of them.
type WordsField struct{ Set *uint8 }

// CostField takes the attribute that has a cost, empty for none, and the cost where it
// has none.
type CostField struct {
	Attribute *string
	Permits   *uint32
}

// DelayField takes a duration or a percentile; the other one
// stays as it is.
type DelayField struct {
	Duration   *time.Duration
	Percentile *reducer.Share
}

// BoundField takes a duration or a share; the other one stays as it is.
type BoundField struct {
	Duration *time.Duration
	Share    *reducer.Share
}

// Setting is one name of a mechanism's map of settings.
type Setting struct {
	Name string
	Type Type
	// Least and Most value of a Count; Least of a Duration.
	Least, Most uint32
	// Words of a Word, with spaces between them, in the order of their numbers.
	Words string
	// Required settings have no default. An error says that it holds Says.
	Required bool
	Says     string
	// Or names the part of a Map that may be there in place of a Required one.
	Or string
	// Variant of a OneOf.
	Variant bool
	// Parts of a Map or a OneOf.
	Parts []Setting
	// Short names the part of a Map whose value may be written in place of the map.
	// Empty for none.
	Short string
	// Bit of a setting that plan bytes have only where it is given, and of a Zone that they
	// have only beside a rate by the calendar: that in the byte behind the Words before it
	// which says so. 0 for one that they always have.
	Bit uint8
}

// MoreBit in the byte of Words says that a byte with the Bits of maps is behind it. Words
// has at most six words.
const MoreBit = 1 << 6

// Draft is a configuration that is being read.
type Draft interface {
	// Field returns where the value of a setting goes, see Type. It is asked for
	// the names of all settings but settings of a type without a field and of type Map.
	Field(name string) any
	// Check fills in the defaults that depend on what was given, and reports settings
	// that exclude each other.
	Check(g Given)
	// Config returns the configuration.
	Config() Config
}

// Given is what a document says of a step. Names are as for Row.Setting.
type Given interface {
	// Has reports whether the setting is there.
	Has(name string) bool
	// Whole reports whether it is there and could be read.
	Whole(name string) bool
	// None reports whether it is the word none.
	None(name string) bool
	// Meant reports whether an unknown name is near to it, so that an error for its
	// absence would be a second error for one mistake.
	Meant(name string) bool
	// Need reports a missing setting, with what is allowed.
	Need(name, allowed string)
	// Refuse reports a setting, if it is there, that is not allowed in its place:
	// found and allowed continue a sentence that begins with its name.
	Refuse(name, found, allowed string)
	// Wrong reports the value of a setting that is there.
	Wrong(name, allowed string)
}

// Readable reports whether settings that are there could be read.
func Readable(g Given, names ...string) bool {
	for _, name := range names {
		if g.Has(name) && !g.Whole(name) {
			return false
		}
	}
	return true
}
