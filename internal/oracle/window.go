package oracle

import (
	"github.com/sluice-go/sluice/core/calendar"
	"github.com/sluice-go/sluice/core/limiter"
)

// fixedWindow counts the permits of the window that is open, if one is.
type fixedWindow struct {
	cfg    limiter.Config
	opened int   // how many windows ever opened: the number of the last one
	start  int64 // of the last one
	end    int64
	taken  int64
	count  int64 // that it opened with
}

func (f *fixedWindow) clone() meter {
	c := *f
	return &c
}

// open reports whether a window is open. One that was undone has no length.
func (f *fixedWindow) open(now int64) bool { return now < f.end }

func (f *fixedWindow) earliest(cost, now int64) int64 {
	if f.open(now) && f.taken+cost > f.least() {
		return f.end
	}
	return now
}

func (f *fixedWindow) take(cost, now int64) permit {
	if !f.open(now) {
		f.opened++
		f.start = now
		if f.end = after(now, int64(f.cfg.Period)); f.cfg.Calendar.Unit != calendar.NoUnit {
			f.end = windowEnd(f.cfg.Calendar, now)
		}
		f.taken, f.count = 0, int64(f.cfg.Count)
	}
	f.taken += cost
	return permit{window: f.opened}
}

// refund gives the count back if the window is still open; at the mark at which
// the window opened, it also undoes the opening when nothing is left.
func (f *fixedWindow) refund(p permit, now int64) {
	if p.window != f.opened || !f.open(now) {
		return
	}
	f.taken -= p.cost
	if f.taken == 0 && f.start == now {
		f.end = f.start
	}
}

func (f *fixedWindow) chargeable(now int64) int64 {
	if !f.open(now) {
		return 2 * int64(f.cfg.Count)
	}
	return max(0, 2*f.least()-f.taken)
}

func (f *fixedWindow) charge(permits, now int64) { f.take(permits, now) }

func (f *fixedWindow) free(now int64) int64 {
	if !f.open(now) {
		return int64(f.cfg.Count)
	}
	return max(0, f.least()-f.taken)
}

// least returns the permits of the open window: a higher count holds from the next one on.
func (f *fixedWindow) least() int64 { return min(f.count, int64(f.cfg.Count)) }

// configure lowers the count at once; a higher one and the duration hold from the next
// window on.
func (f *fixedWindow) configure(cfg limiter.Config, _ int64) { f.cfg = cfg }

func (f *fixedWindow) unused(now int64) bool { return !f.open(now) }
