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
func (s State) since(now clock.Mark) clock.Mark {
	if s.Start == s.End {
		return now
	}
	return max(now, s.Start)
}

// open tells a window from none; one at the end of the line never closes.
func (s State) open(now clock.Mark) bool {
	return s.Start != s.End && (now < s.End || s.End == clock.Never)
}

// at returns the window that is open at now, a new one if there is none.
func (s State) at(now clock.Mark, period time.Duration) State {
	if s.open(now) {
		return s
	}
	return begun(now, period)
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
	if s.End < s.Start || s.End == s.Start && s.Used > 0 {
		return errWindow
	}
	return nil
}

// AppendState implements reducer.Cell: header, Start, End, Used.
func (m *Machine) AppendState(dst []byte, s State) []byte {
	return wire.U32(wire.Mark(wire.Mark(wire.Header(dst, tag), s.Start), s.End), s.Used)
}

// DecodeState implements reducer.Cell.
func (m *Machine) DecodeState(src []byte) (State, error) {
	r := wire.NewReader(src, tag)
	s := State{Start: r.Mark(), End: r.Mark(), Used: r.U32()}
	if err := r.Close(); err != nil {
		return State{}, err
	}
	if err := m.Check(s); err != nil {
		return State{}, wire.Broken(err)
	}
	return s, nil
}
