package explore_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer/explore"
)

// turnstile is a machine of one's own: a coin opens it for a while, and a push
// passes while it is open. The state is the mark at which it shuts, Always when
// it is shut.
type turnstile struct{ open time.Duration }

func (turnstile) Init(clock.Mark) clock.Mark { return clock.Always }

func (t turnstile) Reduce(until clock.Mark, action string, now clock.Mark) (clock.Mark, string) {
	switch {
	case action == "coin":
		return now.Add(t.open), "opens"
	case until >= now: // a defect: intervals are half open, at its end one is over
		return clock.Always, "passes"
	}
	return clock.Always, "stops"
}

func (turnstile) NextWake(until clock.Mark) (clock.Mark, bool) { return until, until != clock.Always }

// A machine of one's own is explored by saying what may happen, when, and what
// must hold.
func Example() {
	type transition = explore.Transition[clock.Mark, string, string]
	_, err := explore.Run(explore.Model[clock.Mark, string, string]{
		Machine: turnstile{open: 5 * time.Second},
		Marks:   explore.Marks{After: []time.Duration{0, time.Second}, Wake: []time.Duration{-1, 0}},
		Actions: func(dst []string, _ clock.Mark, _ clock.Mark) []string { return append(dst, "coin", "push") },
		Key: func(dst []byte, until, now clock.Mark) []byte {
			return binary.LittleEndian.AppendUint64(dst, uint64(until.Sub(now))) // the same later is the same
		},
		Invariants: []explore.Invariant[clock.Mark, string, string]{{Name: "half open", Step: func(t transition) error {
			if t.Effects == "passes" && t.At >= t.Before {
				return errors.New("passes when it is shut")
			}
			return nil
		}}},
		Script: explore.Script[clock.Mark, string, string]{
			New:     "open=5s",
			Action:  func(dst []byte, action string) []byte { return append(dst, action...) },
			Effects: func(dst []byte, _ string, effects string) []byte { return append(dst, effects...) },
			State: func(dst []byte, until, now clock.Mark) []byte {
				if until > now {
					return append(dst, "open"...)
				}
				return append(dst, "shut"...)
			},
		},
	}, explore.Limits{Depth: 8})
	var wrong *explore.Violation
	if errors.As(err, &wrong) {
		fmt.Print(wrong.Script)
	}
	// Output:
	// # half open: passes when it is shut
	// new open=5s
	// ----
	// shut
	//
	// run
	// 0s coin
	// 5s push
	// ----
	// 0s coin  opens   open, wake 5s
	// 5s push  passes  shut
}
