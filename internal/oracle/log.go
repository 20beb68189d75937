package oracle

import (
	"slices"

	"github.com/sluice-go/sluice/core/limiter"
)

// slidingLog is the list of all admissions.
type slidingLog struct {
	cfg        limiter.Config
	admissions []admission
	made       int // how many there ever were: the number of the last one
}

// admission counts until it ends.
type admission struct {
	number int
	cost   int64
	ends   int64
}

func (s *slidingLog) clone() meter {
	c := *s
	c.admissions = slices.Clone(s.admissions)
	return &c
}

// counted returns the sum of the costs that count.
func (s *slidingLog) counted(now int64) int64 {
	sum := int64(0)
	for _, a := range s.admissions {
		if now < a.ends {
			sum += a.cost
		}
	}
	return sum
}

// earliest looks from one end of an admission to the next.
func (s *slidingLog) earliest(cost, now int64) int64 {
	for s.counted(now)+cost > int64(s.cfg.Count) {
		next := int64(never)
		for _, a := range s.admissions {
			if now < a.ends {
				next = min(next, a.ends)
			}
		}
		now = next
	}
	return now
}

func (s *slidingLog) take(cost, now int64) permit {
	s.made++
	s.admissions = append(s.admissions, admission{number: s.made, cost: cost, ends: after(now, int64(s.cfg.Period))})
	return permit{admission: s.made}
}

// refund takes the cost from the admission; one that no longer counts returns nothing.
func (s *slidingLog) refund(p permit, _ int64) {
	for i := range s.admissions {
		if a := &s.admissions[i]; a.number == p.admission {
			a.cost = max(0, a.cost-p.cost)
		}
	}
	s.admissions = slices.DeleteFunc(s.admissions, func(a admission) bool { return a.cost == 0 })
}

func (s *slidingLog) chargeable(now int64) int64 {
	return max(0, 2*int64(s.cfg.Count)-s.counted(now))
}

// charge adds an admission. A log that has as many marks as its count moves its newest
// ones to this mark; admissions of this mark stay, and can be refunded.
func (s *slidingLog) charge(permits, now int64) {
	s.admissions = slices.DeleteFunc(s.admissions, func(a admission) bool { return a.ends <= now })
	marks := map[int64]bool{}
	newest := int64(0)
	for _, a := range s.admissions {
		marks[a.ends] = true
		newest = max(newest, a.ends)
	}
	if len(marks) >= int(s.cfg.Count) && newest != after(now, int64(s.cfg.Period)) {
		for _, a := range s.admissions {
			if a.ends == newest {
				permits += a.cost
			}
		}
		s.admissions = slices.DeleteFunc(s.admissions, func(a admission) bool { return a.ends == newest })
	}
	s.take(permits, now)
}

func (s *slidingLog) free(now int64) int64 { return max(0, int64(s.cfg.Count)-s.counted(now)) }

// configure changes the count at once. Reading: an admission counts for the
// duration that was set when it was made, because a retry delay that was given stays
// correct.
func (s *slidingLog) configure(cfg limiter.Config, _ int64) { s.cfg = cfg }

func (s *slidingLog) unused(now int64) bool {
	return !slices.ContainsFunc(s.admissions, func(a admission) bool { return now < a.ends })
}
