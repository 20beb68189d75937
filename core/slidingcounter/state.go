package slidingcounter

import (
	"errors"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/wire"
	"github.com/sluice-go/sluice/reducer"
)

// Window is a counted window and the one before it.
type Window struct {
	Start     clock.Mark
	Span      time.Duration
	PrevStart clock.Mark
	Prev, Cur uint32
	// Idle is how many windows, up to this one, had no admission: 0 to 2.
	Idle uint8
}

// State is a sliding counter, comparable, without pointers. The zero value has
// seen no admission.
type State struct {
	// Window is that of the last admission; Span is 0 before the first one.
	Window
	// Before is the window that this one followed, to be restored when all that
	// was taken at First, the mark of its first admission, is given back then.
	Before Window
	First  clock.Mark
	// Last is the latest mark of a change.
	Last clock.Mark
}

func (w *Window) left(now clock.Mark) time.Duration { return w.Span - now.Sub(w.Start) }

func (w *Window) move(by time.Duration) {
	if w.Span > 0 {
		w.Start, w.PrevStart = w.Start.Add(by), w.PrevStart.Add(by)
	}
}

// over reports that no window has begun, or that two windows of the period
// passed after the last one that had an admission.
func (w *Window) over(now clock.Mark, period time.Duration) bool {
	if w.Span == 0 {
		return true
	}
	end := w.Start.Add(w.Span)
	for range 2 - w.Idle {
		end = end.Add(period)
	}
	return now >= end
}

// windowAt returns the window that now lies in.
func (w *Window) windowAt(now clock.Mark, period time.Duration) Window {
	end := w.Start.Add(w.Span)
	next := end.Add(period)
	switch {
	case w.over(now, period):
		return Window{Start: now, Span: period}
	case now < end:
		return *w
	case now < next:
		return Window{Start: end, Span: period, PrevStart: w.Start, Prev: w.Cur, Idle: w.Idle + 1}
	}
	return Window{Start: next, Span: period, Idle: w.Idle + 2}
}

// enter moves the state to the window of now for an admission.
func (s *State) enter(now clock.Mark, period time.Duration) {
	if w := s.windowAt(now, period); w != s.Window || s.Idle > 0 {
		s.Before, s.Window, s.First = s.Window, w, now
	}
	s.Idle = 0
	s.Last = now
}

// refund gives back what was taken from a window that still counts. The window
// stays as it is, unless it was entered at this mark and nobody is left in it.
func (s *State) refund(a reducer.Action, now clock.Mark) reducer.Answer {
	switch {
	case a.Cost == 0 || s.Span == 0 || a.ID != permitID:
		return reducer.Answer{}
	case a.Generation == uint64(s.Start) && a.Cost <= s.Cur:
		s.Cur -= a.Cost
		if s.Cur == 0 && now == s.First {
			s.Window, s.First = s.Before, clock.Always
		}
	case a.Generation == uint64(s.PrevStart) && a.Cost <= s.Prev:
		s.Prev -= a.Cost
		if s.Before.Start == s.PrevStart && a.Cost <= s.Before.Cur {
			s.Before.Cur -= a.Cost
		}
	default:
		return reducer.Answer{}
	}
	s.Last = now
	return reducer.Answer{Verdict: reducer.Done}
}

// permitID tells this algorithm's permits from those of another one, which a
// limiter may have had before. To a token bucket it is long past.
const permitID = 1<<63 + 1

const tag = 'S'

var errWindow = errors.New("sliding counter: a window of negative span or of later, or a count without a window")

// Check implements reducer.Cell.
func (m *Machine) Check(s State) error {
	if !s.sound() {
		return errWindow
	}
	return nil
}

func (s *State) sound() bool { return s.Window.sound(s.Last) && s.Before.sound(s.Last) }

func (w *Window) sound(last clock.Mark) bool {
	if w.Span == 0 {
		return *w == (Window{})
	}
	return w.Span > 0 && w.Idle <= 2 && w.Start <= last
}

func (s *State) code(c *wire.Coder) {
	s.Window.code(c)
	s.Before.code(c)
	c.Mark(&s.First)
	c.Mark(&s.Last)
}

func (w *Window) code(c *wire.Coder) {
	c.Mark(&w.Start)
	c.Span(&w.Span)
	c.Mark(&w.PrevStart)
	c.U32(&w.Prev)
	c.U32(&w.Cur)
	c.U8(&w.Idle)
}

// AppendState implements reducer.Cell: header, the two windows, First, Last.
func (m *Machine) AppendState(dst []byte, s State) []byte { return m.Encode(dst, &s) }

// DecodeState implements reducer.Cell.
func (m *Machine) DecodeState(src []byte) (State, error) {
	return wire.Decoded(src, m.Decode)
}

// Encode is AppendState in place.
func (m *Machine) Encode(dst []byte, s *State) []byte {
	c := wire.Writer(dst, tag, 0)
	s.code(&c)
	return c.Bytes()
}

// Decode is DecodeState in place, into a state that is zero. After an error the
// state means nothing.
func (m *Machine) Decode(src []byte, s *State) error {
	c := wire.Reader(src, tag, 0)
	s.code(&c)
	if err := c.Close(); err != nil {
		return err
	}
	if !s.sound() {
		return wire.Broken(errWindow)
	}
	return nil
}
