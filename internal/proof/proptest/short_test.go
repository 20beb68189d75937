package proptest

import (
	"bytes"
	"fmt"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/reducer"
)

// shortcut is Enter and Exit of a cell.
type shortcut struct {
	enter func(c cell.Cell, cost uint32, caller uint64, deadline, now clock.Mark) (reducer.Permit, bool)
	exit  func(c cell.Cell, p reducer.Permit, now clock.Mark) bool
}

var whole = shortcut{cell.Cell.Enter, cell.Cell.Exit}

// Short: Enter and Exit do what Step would have done, or return false and change
// nothing.
func Short(m machine, s shortcut, h history) error {
	_, c := m.begin(h)
	name, maker := m.name, c.maker(m.kind)
	long, short := maker.New(start), maker.New(start)
	now := start
	var open []reducer.Permit
	for _, w := range h.steps() {
		now += pick(w>>4, 0, 0, 1, 2, 5, clock.Mark(w>>8%32), -1, 0)
		var a, b reducer.Out
		before := short.AppendState(nil)
		switch i := int(w >> 20 % 64); {
		case w%4 < 2:
			action := reducer.Action{Kind: reducer.Acquire, Cost: pick(w>>14, uint32(1), 1, 2, 0), Permit: reducer.Permit{ID: w >> 40}}
			p, entered := s.enter(short, action.Cost, action.ID, action.Deadline(), now)
			if !entered {
				if !bytes.Equal(before, short.AppendState(nil)) {
					return fmt.Errorf("Short: %s: an Enter that returns false changes the state", name)
				}
				b = nil
				if x := short.Step(action, now, &b); x.Verdict == reducer.Admit {
					p = x.Permit
				}
			}
			x := long.Step(action, now, &a)
			if entered && (x.Verdict != reducer.Admit || x.Permit != p) {
				return fmt.Errorf("Short: %s: Enter gives %+v, Step %s", name, p, x)
			}
			if x.Verdict == reducer.Admit {
				open = append(open, x.Permit)
			}
		case w%4 == 2 && len(open) > 0:
			p := open[i%len(open)]
			open = append(open[:i%len(open):i%len(open)], open[i%len(open)+1:]...)
			action := reducer.Action{Kind: exitKind(m.kind), Outcome: reducer.OK, Permit: p}
			if !s.exit(short, p, now) {
				if !bytes.Equal(before, short.AppendState(nil)) {
					return fmt.Errorf("Short: %s: an Exit that returns false changes the state", name)
				}
				short.Step(action, now, &b)
			}
			long.Step(action, now, &a)
		default:
			action := reducer.Action{Kind: reducer.Tick}
			if len(open) > 0 && w>>30%2 == 0 {
				action = reducer.Action{Kind: exitKind(m.kind), Outcome: reducer.Fail, Permit: open[0]}
				open = open[1:]
			}
			long.Step(action, now, &a)
			short.Step(action, now, &b)
		}
		if !bytes.Equal(long.AppendState(nil), short.AppendState(nil)) || fmt.Sprint(a) != fmt.Sprint(b) {
			return fmt.Errorf("Short: %s: Step %q and %v, the fast path %q and %v", name, cell.Text(long, now), a, cell.Text(short, now), b)
		}
	}
	return nil
}

// exitKind is the action that Exit performs.
func exitKind(f family) reducer.Kind {
	if f == bulkheads || f == tokenBudgets {
		return reducer.Release
	}
	return reducer.Record
}

// shortLines compare the fast paths of a cell with Step.
func shortLines() []row {
	on := func(m machine, s shortcut, cases int, what string) trial {
		return trial{m.name + what, func() error {
			return searched(cases, 60, false, func(h history) error { return Short(m, s, h) })
		}}
	}
	enter := row{name: "Short", statement: "Enter does what an Acquire that admits at once does, or changes nothing", how: byDifference,
		mutant: on(queuedBucket, shortcut{func(c cell.Cell, cost uint32, caller uint64, deadline, now clock.Mark) (reducer.Permit, bool) {
			p, ok := c.Enter(cost, caller, deadline, now)
			p.Mark++
			return p, ok
		}, whole.exit}, 300, "  whose Enter grants permits of the next mark")}
	exit := row{name: "Short", statement: "Exit does what the Record of a success or the Release does, or changes nothing", how: byDifference,
		mutant: on(calls, shortcut{whole.enter, func(cell.Cell, reducer.Permit, clock.Mark) bool { return true }}, 300, " whose Exit loses successes")}
	for _, m := range join(algorithms, queued, breakers, []machine{places}) {
		enter.machines = append(enter.machines, on(m, whole, 150, ""))
		if m.kind != limiters {
			exit.machines = append(exit.machines, on(m, whole, 150, ""))
		}
	}
	return []row{enter, exit}
}
