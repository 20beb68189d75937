package oracle

import (
	"math/big"

	"github.com/sluice-go/sluice/core/limiter"
)

// slidingCounter keeps the list of all windows since it last restarted. It is
// fresh while the list is empty.
type slidingCounter struct {
	cfg     limiter.Config
	windows []slot
	begun   int // the number of the first window of the list
}

// slot is one window. admitted counts what was admitted in it, less what was
// refunded as a whole at the mark of its grant, which leaves no trace. What is refunded
// later or in part was admitted all the same.
type slot struct {
	start    int64
	length   int64
	taken    int64
	admitted int
}

func (s *slidingCounter) clone() meter {
	c := *s
	c.windows = append([]slot(nil), s.windows...)
	return &c
}

// roll appends the windows that began up to now. When two have passed without an
// admission, the next one restarts it: the list is emptied.
func (s *slidingCounter) roll(now int64) {
	for len(s.windows) > 0 {
		n := len(s.windows)
		last := s.windows[n-1]
		if now < last.start+last.length {
			return
		}
		if n >= 2 && last.admitted == 0 && s.windows[n-2].admitted == 0 {
			s.begun += n
			s.windows = nil
			return
		}
		s.windows = append(s.windows, slot{start: last.start + last.length, length: int64(s.cfg.Period)})
	}
}

// bound returns count x D - previous x (D - elapsed) - current x D, and D: what
// may still be admitted at now is the quotient.
func (s *slidingCounter) bound(now int64) (room, length *big.Int) {
	n := len(s.windows)
	w := s.windows[n-1]
	previous := int64(0)
	if n > 1 {
		previous = s.windows[n-2].taken
	}
	length = big.NewInt(w.length)
	room = new(big.Int).Mul(big.NewInt(int64(s.cfg.Count)-w.taken), length)
	weighed := new(big.Int).Mul(big.NewInt(previous), big.NewInt(w.length-(now-w.start)))
	return room.Sub(room, weighed), length
}

// admits reports whether the cost is admitted now.
func (s *slidingCounter) admits(cost, now int64) bool {
	c := s.clone().(*slidingCounter)
	c.roll(now)
	if len(c.windows) == 0 {
		return cost <= int64(s.cfg.Count)
	}
	room, length := c.bound(now)
	return length.Mul(length, big.NewInt(cost)).Cmp(room) <= 0
}

// earliest looks through the windows to come for the first in whose last
// nanosecond the cost is admitted, then halves the time within it: without
// another admission what counts only ever falls.
func (s *slidingCounter) earliest(cost, now int64) int64 {
	low := now
	for !s.admits(cost, s.windowEnd(low)-1) {
		low = s.windowEnd(low)
	}
	if s.admits(cost, low) {
		return low
	}
	high := s.windowEnd(low) - 1 // admitted there, not at low
	for high-low > 1 {
		mid := low + (high-low)/2
		if s.admits(cost, mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// windowEnd returns the end of the window that is the present one at t.
func (s *slidingCounter) windowEnd(t int64) int64 {
	c := s.clone().(*slidingCounter)
	c.roll(t)
	if n := len(c.windows); n > 0 {
		return c.windows[n-1].start + c.windows[n-1].length
	}
	return t + 1
}

func (s *slidingCounter) take(cost, now int64) permit {
	s.roll(now)
	if len(s.windows) == 0 {
		s.windows = []slot{{start: now, length: int64(s.cfg.Period)}}
	}
	n := len(s.windows)
	s.windows[n-1].taken += cost
	s.windows[n-1].admitted++
	return permit{window: s.begun + n - 1}
}

// refund subtracts from the window from which was taken if it is the present one
// or the one before. At the mark at which it restarted, with nothing left, it
// is fresh again.
func (s *slidingCounter) refund(p permit, now int64) {
	s.roll(now)
	n := len(s.windows)
	i := p.window - s.begun
	if i < 0 || i < n-2 || i >= n {
		return
	}
	s.windows[i].taken -= p.cost
	if now == p.at && p.cost == p.total {
		s.windows[i].admitted--
	}
	if i == 0 && s.windows[0].start == now && s.windows[0].taken == 0 {
		s.begun++
		s.windows = nil
	}
}

// chargeable is what may still be admitted, and the count once more.
func (s *slidingCounter) chargeable(now int64) int64 {
	s.roll(now)
	if len(s.windows) == 0 {
		return 2 * int64(s.cfg.Count)
	}
	room, length := s.bound(now)
	room.Add(room, new(big.Int).Mul(length, big.NewInt(int64(s.cfg.Count))))
	return max(0, room.Div(room, length).Int64())
}

func (s *slidingCounter) charge(permits, now int64) { s.take(permits, now) }

func (s *slidingCounter) free(now int64) int64 {
	s.roll(now)
	if len(s.windows) == 0 {
		return int64(s.cfg.Count)
	}
	room, length := s.bound(now)
	if room.Sign() <= 0 {
		return 0
	}
	return room.Div(room, length).Int64()
}

// configure changes the count at once and the duration with the next window.
func (s *slidingCounter) configure(cfg limiter.Config, now int64) {
	s.roll(now)
	s.cfg = cfg
}

// unused says that two windows have passed without an admission.
func (s *slidingCounter) unused(now int64) bool {
	c := s.clone().(*slidingCounter)
	c.roll(now)
	return len(c.windows) == 0
}
