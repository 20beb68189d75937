package reducer

import (
	"cmp"
	"math/bits"
	"strconv"
	"time"
)

// Share is a part of a whole, exact to a millionth. It is no number, so that 50 is
// not taken for 50 %: that is Percent(50).
type Share struct{ millionths uint32 }

// Whole is 100 % in millionths.
const Whole = 1_000_000

// noShare is what a number has that no share has. It is more than every configuration
// allows, so that each of them refuses it under the name of the field.
const noShare = 1<<32 - 1

// NoShare returns the share of a number that is none, as -1 %. It is more than all others.
func NoShare() Share { return Share{noShare} }

// Percent returns a share of whole percents: Percent(50) is 50 %. A number above 400,000 has
// NoShare.
func Percent(n uint32) Share {
	if n > maxPercent {
		return NoShare()
	}
	return Share{n * (Whole / 100)}
}

// maxPercent is the most percents that a share can have.
const maxPercent = 400_000

// Millionths returns a share of so many millionths: Millionths(500) is 0.05 %.
func Millionths(n uint32) Share { return Share{n} }

// Millionths returns the share in millionths.
func (s Share) Millionths() uint32 { return s.millionths }

// Positive reports whether the share is more than 0.
func (s Share) Positive() bool { return s.millionths > 0 }

// Compare returns -1 where the share is less than another one, 0 where both are the
// same, and 1 where it is more.
func (s Share) Compare(other Share) int { return cmp.Compare(s.millionths, other.millionths) }

// String returns the share as the policy document writes it, as in "0.5%".
func (s Share) String() string {
	if s.millionths == noShare {
		return "a number that is neither 0% nor 0.0001% to 400000%"
	}
	text := strconv.FormatUint(uint64(s.millionths/10_000), 10)
	if rest := s.millionths % 10_000; rest != 0 {
		digits := strconv.FormatUint(uint64(10_000+rest), 10)[1:]
		for digits[len(digits)-1] == '0' {
			digits = digits[:len(digits)-1]
		}
		text += "." + digits
	}
	return text + "%"
}

// Of returns the share of a duration of 0 or more, rounded down to a nanosecond.
func (s Share) Of(d time.Duration) time.Duration {
	high, low := bits.Mul64(uint64(max(0, d)), uint64(s.millionths))
	part, _ := bits.Div64(high, low, Whole)
	return time.Duration(part)
}

// Reached reports whether part is at least the share of whole.
func (s Share) Reached(part, whole uint32) bool {
	return uint64(part)*Whole >= uint64(s.millionths)*uint64(whole)
}
