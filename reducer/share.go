package reducer

import "strconv"

// Share is a part of a whole in parts per million: 500_000 is 50 %.
type Share uint32

// Whole is 100 %.
const Whole Share = 1_000_000

// Percent returns a share of whole percents: Percent(50) is 50 %.
func Percent(n uint32) Share { return Share(n) * (Whole / 100) }

// String returns the share as the policy document writes it, as in "0.5%".
func (s Share) String() string {
	text := strconv.FormatUint(uint64(s/10_000), 10)
	if rest := s % 10_000; rest != 0 {
		digits := strconv.FormatUint(uint64(10_000+rest), 10)[1:]
		for digits[len(digits)-1] == '0' {
			digits = digits[:len(digits)-1]
		}
		text += "." + digits
	}
	return text + "%"
}

// Reached reports whether part is at least the share of whole.
func (s Share) Reached(part, whole uint32) bool {
	return uint64(part)*uint64(Whole) >= uint64(s)*uint64(whole)
}
