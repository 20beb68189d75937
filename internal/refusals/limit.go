package refusals

import (
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
)

// Limit is an enforced limit as the header fields show it.
type Limit struct {
	// Step is the index of the step in its policy.
	Step int
	// Name as a string of structured fields, with its quotes.
	Name string
	// Count is how many permits there are in Window seconds, which is 0 where no whole
	// number of seconds has a whole number of permits.
	Count  uint64
	Window int64
	// Burst is how many permits can be free.
	Burst uint64
}

// Limits returns the enforced limits of a plan. A limit in shadow refuses no request,
// so clients need not know it.
func Limits(plan *pipeline.Plan) []Limit {
	var list []Limit
	for i := range plan.Len() {
		s := plan.Settings(i)
		name, ok := quoted(s.Name)
		quota := PermitsOf(plan, i)
		if quota.Count == 0 || s.Shadow || !ok {
			continue
		}
		l := Limit{Step: i, Name: name, Burst: uint64(quota.Burst)}
		l.Count, l.Window = perSeconds(uint64(quota.Count), quota.Period)
		list = append(list, l)
	}
	return list
}

// PermitsOf returns the rate of a step, zero for a step without one.
func PermitsOf(plan *pipeline.Plan, i int) (q mechanism.Permits) {
	if quota := mechanisms.Facts(plan.Kind(i)).Permits; quota != nil {
		q = quota(plan.Settings(i).Config)
	}
	return q
}

// mostInteger is the greatest integer of structured fields (RFC 9651 section 3.3.1).
const mostInteger = 999_999_999_999_999

// perSeconds returns the rate in the fewest whole seconds in which it is a whole number,
// as header fields know no smaller unit, and no window where the numbers get too big.
func perSeconds(count uint64, period time.Duration) (uint64, int64) {
	times := uint64(time.Second / gcd(period, time.Second))
	high, scaled := bits.Mul64(count, times)
	over, length := bits.Mul64(uint64(period), times)
	if high != 0 || over != 0 || scaled > mostInteger {
		return count, 0
	}
	return scaled, int64(length / uint64(time.Second))
}

func gcd(a, b time.Duration) time.Duration {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// quoted returns a string of structured fields (RFC 9651 section 3.3.3), which are of
// printable ASCII.
func quoted(text string) (string, bool) {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", false
	}
	return `"` + strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), `"`, `\"`) + `"`, true
}

// PolicyFieldOf is PolicyField for the limits of some steps alone.
func PolicyFieldOf(limits []Limit, has func(step int) bool) string {
	var some []Limit
	for _, l := range limits {
		if has(l.Step) {
			some = append(some, l)
		}
	}
	return PolicyField(some)
}

// PolicyField returns the value of RateLimit-Policy.
func PolicyField(limits []Limit) string {
	var b []byte
	for i, l := range limits {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, l.Name...)
		b = strconv.AppendUint(append(b, ";q="...), l.Count, 10)
		if l.Window > 0 {
			b = strconv.AppendInt(append(b, ";w="...), l.Window, 10)
		}
	}
	return string(b)
}

// Append appends the item of a limit of the field RateLimit: how many permits remain,
// and in how many seconds there is a next one, or all of them.
func (l *Limit) Append(b []byte, remaining uint64, reset int64) []byte {
	b = append(append(b, l.Name...), ";r="...)
	b = append(strconv.AppendUint(b, remaining, 10), ";t="...)
	return strconv.AppendInt(b, reset, 10)
}
