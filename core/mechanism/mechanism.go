package mechanism

import "time"

// Kind names a mechanism. 0 names none.
type Kind uint8

// The mechanisms.
const (
	Timeout Kind = iota + 1
	Retry
	Breaker
	Limit
	Bulkhead
	Hedge
	Adaptive
	Chaos
	kinds
)

// Kinds is one more than the greatest Kind: the length of an array with an
// element for each.
const Kinds = int(kinds)

var names = [Kinds]string{"", "timeout", "retry", "breaker", "limit", "bulkhead", "hedge", "adaptive", "chaos"}

// String returns the name that the policy document uses, "unknown" for a
// number that names no mechanism.
func (k Kind) String() string {
	if k == 0 || int(k) >= Kinds {
		return "unknown"
	}
	return names[k]
}

// Config is the configuration of a mechanism. It is a value: a copy of it
// shares nothing with the original.
type Config interface {
	Kind() Kind
}

// Dated is a Config that may need the wall time of mark 0.
type Dated interface {
	Config
	// WithEpoch returns the configuration with the wall time of mark 0, and false for
	// one that needs none or has it. It calls epoch only where it needs it.
	WithEpoch(epoch func() time.Duration) (Config, bool)
}
