package keyed

import (
	"strconv"
	"strings"
)

// Missing names what a step does with a call that lacks an attribute of its key.
type Missing uint8

const (
	// MissingShare counts what is missing as the empty value: all calls that lack
	// it have one cell. It is the default.
	MissingShare Missing = iota
	// MissingDeny refuses the call.
	MissingDeny
	// MissingSkip lets the call pass without a permit of the step.
	MissingSkip
	// MissingDeny401 and MissingDeny403 refuse the call as MissingDeny does. Over HTTP the
	// refusal has that status, of a credential that is missing, and else 400. A plan has
	// the one refusal: which status it has is for hosts.
	MissingDeny401
	MissingDeny403
)

// MissingWords are the words of Missing.
const MissingWords = "share deny skip deny-401 deny-403"

// String returns the word of the policy document.
func (m Missing) String() string { return strings.Fields(MissingWords)[m] }

// Denies reports whether a call that lacks an attribute is refused.
func (m Missing) Denies() bool { return m == MissingDeny || m >= MissingDeny401 }

// Join returns the key that the attributes of a step have together, by the values
// that lookup returns; the value of IP adds its network. Different values never give one key. It is empty when all
// values are. missing is true when any of them is empty, which counts as missing.
func Join(per []string, lookup func(attribute string) string) (key string, missing bool) {
	if len(per) == 1 {
		key = Key(per[0], lookup(per[0]))
		return key, key == ""
	}
	var room [96]byte
	joined, empty := room[:0], true
	for _, attribute := range per {
		value := Key(attribute, lookup(attribute))
		if value == "" {
			missing = true
		} else {
			empty = false
		}
		joined = strconv.AppendInt(joined, int64(len(value)), 10)
		joined = append(joined, ':')
		joined = append(joined, value...)
	}
	if empty {
		return "", true
	}
	return string(joined), missing
}
