package fixedwindow

import (
	"errors"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/wire"
)

// State is a fixed window: 24 bytes, comparable. The zero value has no window.
type State struct {
	// Start and End of the window: it is open in [Start, End).
	Start, End clock.Mark
	// Used permits of the window.
	Used uint32
}

// since returns now, or the start of the window if that is later.
func (s *State) since(now clock.Mark) clock.Mark {
	if s.Start == s.End {
		return now
	}
	return max(now, s.Start)
}

// open tells a window from none; one at the end of the line never closes.
func (s *State) open(now clock.Mark) bool {
	return s.Start != s.End && (now < s.End || s.End == clock.Never)
}

// enter makes sure that a window is open at now.
func (s *State) enter(now clock.Mark, period time.Duration) {
	if !s.open(now) {
		*s = begun(now, period)
	}
}

// begun returns the window that opens at now. At the very end of the line it
// opens a nanosecond before, for one that ends where it starts is none.
func begun(now clock.Mark, period time.Duration) State {
	return State{Start: min(now, clock.Never-1), End: now.Add(period)}
}

// permitID tells this algorithm's permits from those of another one, which a
// limiter may have had before. To a token bucket it is long past.
const permitID = 1 << 63

const tag = 'F'

var errWindow = errors.New("fixed window: ends before it starts, or is used and not open")

// Check implements reducer.Cell.
func (m *Machine) Check(s State) error {
	if !s.sound() {
		return errWindow
	}
	return nil
}

func (s *State) sound() bool { return s.End >= s.Start && (s.End != s.Start || s.Used == 0) }

func (s *State) code(c *wire.Coder) {
	c.Mark(&s.Start)
	c.Mark(&s.End)
	c.U32(&s.Used)
}

// AppendState implements reducer.Cell: header, Start, End, Used.
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
