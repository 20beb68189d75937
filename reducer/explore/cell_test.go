package explore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/reducer/explore"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func kinds(all ...reducer.Kind) (list []reducer.Action) {
	for _, kind := range all {
		list = append(list, reducer.Action{Kind: kind, Cost: 1})
	}
	return list
}

func makeBucket(a *script.Args) (reducer.Cell[limiter.State], error) {
	return limiter.New(script.Limit(a, limiter.TokenBucket))
}

func makePlaces(a *script.Args) (reducer.Cell[bulkhead.State], error) {
	return bulkhead.New(bulkhead.Config{Concurrent: a.Count32("concurrent", 0), Queue: a.Count32("queue", 0),
		Wait: a.Duration("wait", 0), Lease: a.Duration("lease", 0)})
}

func makeBreaker(a *script.Args) (reducer.Cell[breaker.State], error) {
	return breaker.New(breaker.Config{Window: breaker.Consecutive, Count: a.Count32("consecutive", 0), Probes: 1, Open: a.Backoff("open")})
}

var modes = []string{"closed", "open", "half-open", "forced-open", "forced-closed", "metrics-only"}

// scripts explores the use and returns the script of every n-th transition up
// to the depth, as if it were wrong. What is due is processed before anything else:
// the interpreter checks each retry delay for an owner that is never late.
func scripts[S any](t *testing.T, u explore.Use[S], depth, nth int) string {
	t.Helper()
	m := must(explore.ForCell(u))
	m.Marks = explore.Marks{After: []time.Duration{0, 1, -1}, Wake: []time.Duration{-1, 0}, At: []clock.Mark{20}}
	actions := m.Actions
	m.Actions = func(dst []explore.Deed, room explore.Room[S], at clock.Mark) []explore.Deed {
		wake, ok := m.Machine.NextWake(room)
		if ok && wake < at {
			return dst
		}
		return slices.DeleteFunc(actions(dst, room, at), func(d explore.Deed) bool {
			return ok && wake == at && d.Action.Kind != reducer.Tick && d.Action.Kind != reducer.Serve
		})
	}
	var all []string
	for at := 1; ; at += nth {
		count := 0
		m.Invariants = []explore.Invariant[explore.Room[S], explore.Deed, reducer.Effects]{{Name: "n", Step: func(explore.Transition[explore.Room[S], explore.Deed, reducer.Effects]) error {
			if count++; count == at {
				return fmt.Errorf("transition %d", at)
			}
			return nil
		}}}
		_, err := explore.Run(m, explore.Limits{Depth: depth})
		var v *explore.Violation
		if !errors.As(err, &v) {
			return strings.Join(all, "\n")
		}
		all = append(all, v.Script)
	}
}

// runs plays scripts with the interpreter of the mechanisms' tests, which
// compares all that is written in them.
func runs[S any](t *testing.T, text string, spec script.Spec[S]) {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "explored.txt"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	script.Run(t, folder, spec)
}

// The scripts come from the mechanisms' tests: the interpreter comes to the
// same answers, effects, states and wakes, for every kind of action.
func TestScripts(t *testing.T) {
	t.Run("bulkhead", func(t *testing.T) {
		const settings = "concurrent=1 queue=1 wait=3ns lease=2ns"
		u := explore.Use[bulkhead.State]{
			Cell: must(makePlaces(script.NewArgs(t, "", settings))), New: settings, Callers: 3,
			Alphabet: kinds(reducer.Acquire, reducer.TryAcquire, reducer.Release, reducer.Cancel, reducer.Renew, reducer.Commit,
				reducer.Leave, reducer.Expire, reducer.Peek, reducer.Tick, reducer.Serve, reducer.Reset),
			Late: kinds(reducer.Release, reducer.Renew, reducer.Leave),
		}
		runs(t, scripts(t, u, 3, 41), script.Spec[bulkhead.State]{New: makePlaces})
	})
	t.Run("breaker", func(t *testing.T) {
		const settings = "consecutive=1 open=exponential:2ns,2,4ns"
		u := explore.Use[breaker.State]{
			Cell: must(makeBreaker(script.NewArgs(t, "", settings))), New: settings, Callers: 2, Modes: modes,
			Alphabet: append(kinds(reducer.Acquire, reducer.Cancel, reducer.Tick, reducer.Peek, reducer.Reset),
				reducer.Action{Kind: reducer.Record, Outcome: reducer.OK}, reducer.Action{Kind: reducer.Record, Outcome: reducer.Fail},
				reducer.Action{Kind: reducer.Transition, Cost: uint32(breaker.Open), Permit: reducer.Permit{Mark: 9}},
				reducer.Action{Kind: reducer.Transition, Cost: uint32(breaker.ForcedOpen)}),
			Late: []reducer.Action{{Kind: reducer.Record, Outcome: reducer.Fail}},
		}
		runs(t, scripts(t, u, 3, 401), script.Spec[breaker.State]{New: makeBreaker, Modes: modes})
	})
	t.Run("limiter", func(t *testing.T) {
		const settings = "rate=1/3ns burst=2 wait=4ns queue=2"
		u := explore.Use[limiter.State]{
			Cell: must(makeBucket(script.NewArgs(t, "", settings))), New: settings, Callers: 3, Memory: 5,
			Alphabet: append(kinds(reducer.Acquire, reducer.Cancel, reducer.Leave, reducer.Tick, reducer.Serve, reducer.Drain),
				reducer.Action{Kind: reducer.Acquire, Cost: 2}, reducer.Action{Kind: reducer.Acquire, Cost: 3}, reducer.Action{Kind: reducer.Peek},
				reducer.Action{Kind: reducer.Cancel, Cost: 2}, reducer.Action{Kind: reducer.Reserve, Cost: 1, Permit: reducer.Permit{Mark: 5}}),
		}
		runs(t, scripts(t, u, 3, 199), script.Spec[limiter.State]{New: makeBucket})
	})
}

// A machine with a defect: the script shows it. The script passes when it runs
// against the defective machine, and fails against the correct one.
func TestDefect(t *testing.T) {
	roomy := func(a *script.Args) (reducer.Cell[bulkhead.State], error) {
		return bulkhead.New(bulkhead.Config{Concurrent: a.Count32("concurrent", 0) + 1})
	}
	m := must(explore.ForCell(explore.Use[bulkhead.State]{
		Cell: must(roomy(script.NewArgs(t, "", "concurrent=1"))), New: "concurrent=1", Callers: 3, Alphabet: kinds(reducer.Acquire, reducer.Release, reducer.Tick)}))
	m.Invariants = []explore.Invariant[explore.Room[bulkhead.State], explore.Deed, reducer.Effects]{{Name: "K1", State: func(r explore.Room[bulkhead.State], _ clock.Mark) error {
		if r.State.Held > 1 {
			return fmt.Errorf("%d of 1 places are held", r.State.Held)
		}
		return nil
	}}}
	_, err := explore.Run(m, explore.Limits{Depth: 9})
	const want = `# K1: 2 of 1 places are held
new concurrent=1
----
held 0/2

run
0s acquire id=1
0s acquire id=2
----
0s acquire id=1  admit  held 1/2
0s acquire id=2  admit  held 2/2
`
	var v *explore.Violation
	if !errors.As(err, &v) || v.Script != want {
		t.Fatalf("%v", err)
	}
	runs(t, v.Script, script.Spec[bulkhead.State]{New: roomy})
}

// A breaker whose modes have no names has numbers.
func TestModesWithoutNames(t *testing.T) {
	m := must(explore.ForCell(explore.Use[breaker.State]{Alphabet: []reducer.Action{{Kind: reducer.Transition, Cost: 1}},
		Cell: must(breaker.New(breaker.Config{Window: breaker.Consecutive, Count: 1, Probes: 1, Open: backoff.Config{Kind: backoff.Constant, Base: 5}}))}))
	m.Invariants = []explore.Invariant[explore.Room[breaker.State], explore.Deed, reducer.Effects]{{Name: "open", State: func(r explore.Room[breaker.State], _ clock.Mark) error {
		if r.State.Mode != breaker.Closed {
			return errors.New("opens")
		}
		return nil
	}}}
	_, err := explore.Run(m, explore.Limits{Depth: 1})
	if err == nil || !strings.Contains(err.Error(), "0s transition to=1  done; change to 1 at 0s (open)  open until 5ns, wake 5ns") {
		t.Error(err)
	}
}

// The books of the callers: waiters, holders, their permits, and since when.
func TestBooks(t *testing.T) {
	m := must(explore.ForCell(explore.Use[bulkhead.State]{Callers: 3, Memory: 4, Late: kinds(reducer.Release),
		Cell: must(bulkhead.New(bulkhead.Config{Concurrent: 1, Queue: 2, Wait: 5, Lease: 3}))}))
	room, now := m.Machine.Init(0), clock.Mark(0)
	play := func(at clock.Mark, kind reducer.Kind, caller uint64) {
		t.Helper()
		now = at
		next, _ := m.Machine.Reduce(room, explore.Deed{Caller: caller, Action: reducer.Action{Kind: kind, Cost: 1}}, at)
		if next.Callers != nil && &next.Callers[0] == &room.Callers[0] {
			t.Fatal("the books are shared")
		}
		room = next
	}
	check := func(queue []uint64, recent int, standings ...explore.Standing) {
		t.Helper()
		var got []explore.Standing
		for _, c := range room.Callers {
			got = append(got, c.Standing)
		}
		if !slices.Equal(got, standings) || !slices.Equal(room.Queue, queue) || len(room.Recent) != recent {
			t.Fatalf("at %v: %v %v, %d recent", now, got, room.Queue, len(room.Recent))
		}
	}
	check(nil, 0, explore.None, explore.None, explore.None)
	play(0, reducer.Acquire, 1)
	play(1, reducer.Acquire, 2)
	play(1, reducer.Acquire, 3)
	check([]uint64{2, 3}, 1, explore.Holds, explore.Waits, explore.Waits)
	play(2, reducer.Commit, 1)
	play(2, reducer.Renew, 1)
	check([]uint64{2, 3}, 1, explore.Holds, explore.Waits, explore.Waits)
	before := room
	play(2, reducer.Expire, 3)
	check([]uint64{2, 3}, 1, explore.Holds, explore.Waits, explore.Waits)
	play(2, reducer.Leave, 3)
	check([]uint64{2}, 1, explore.Holds, explore.Waits, explore.Late)
	if !slices.Equal(before.Queue, []uint64{2, 3}) {
		t.Error("the queue of the earlier room has changed")
	}
	play(5, reducer.Tick, 0) // the lease of 1 is over, as is the memory
	check([]uint64{2}, 0, explore.Late, explore.Waits, explore.Late)
	play(5, reducer.Serve, 0)
	check(nil, 1, explore.Late, explore.Holds, explore.Late)
	if c := room.Callers[1]; c.Since != 5 || c.Permit.Mark != 5 || c.Cost != 1 {
		t.Errorf("%+v", c)
	}
	deeds := m.Actions(nil, room, 5)
	if want := []explore.Deed{{Caller: 1, Action: kinds(reducer.Release)[0]}, {Caller: 3, Action: kinds(reducer.Release)[0]}}; !slices.Equal(deeds, want) {
		t.Errorf("%v", deeds)
	}
	play(6, reducer.Release, 1)
	check(nil, 1, explore.Late, explore.Holds, explore.Late)
	play(6, reducer.Cancel, 2)
	check(nil, 0, explore.Late, explore.Late, explore.Late)
	play(6, reducer.Acquire, 1)
	play(6, reducer.Acquire, 2)
	play(11, reducer.Expire, 2)
	check(nil, 0, explore.Holds, explore.Late, explore.Late)
	play(11, reducer.Acquire, 9) // this caller is not in the books
	check(nil, 1, explore.Late, explore.Late, explore.Late)
}

// Without callers the cell still grants, and without late actions the books forget
// permits that are over.
func TestForgetful(t *testing.T) {
	cell := must(limiter.New(limiter.Config{Count: 1, Period: 3, Burst: 2}))
	m := must(explore.ForCell(explore.Use[limiter.State]{Cell: cell, Alphabet: kinds(reducer.Acquire, reducer.Cancel), Memory: 2}))
	if deeds := m.Actions(nil, m.Machine.Init(0), 0); len(deeds) != 1 || deeds[0].Caller != 0 {
		t.Errorf("%v", deeds)
	}
	room, effects := m.Machine.Reduce(m.Machine.Init(0), explore.Deed{Action: kinds(reducer.Acquire)[0]}, 0)
	if effects.Answer.Verdict != reducer.Admit || len(room.Recent) != 1 {
		t.Errorf("%v %v", effects, room.Recent)
	}
	room, _ = m.Machine.Reduce(room, explore.Deed{Action: reducer.Action{Kind: reducer.Cancel, Cost: 1, Permit: effects.Answer.Permit}}, 0)
	if len(room.Recent) != 1 {
		t.Error("without callers a cancel removes no grant")
	}
	m = must(explore.ForCell(explore.Use[limiter.State]{Cell: cell, Callers: 2, Alphabet: kinds(reducer.Acquire, reducer.Release), Memory: 2}))
	room, _ = m.Machine.Reduce(m.Machine.Init(0), explore.Deed{Caller: 1, Action: kinds(reducer.Acquire)[0]}, 0)
	key := m.Key(nil, room, 0)
	if string(key) == string(m.Key(nil, room, 1)) || string(key) == string(m.Key(nil, m.Machine.Init(0), 0)) {
		t.Error("the key does not distinguish them")
	}
	room, _ = m.Machine.Reduce(room, explore.Deed{Caller: 1, Action: reducer.Action{Kind: reducer.Release}}, 0)
	if room.Callers[0] != (explore.Caller{}) || len(room.Recent) != 1 {
		t.Errorf("%+v", room)
	}
}

func TestUses(t *testing.T) {
	cell := must(limiter.New(limiter.Config{Count: 1, Period: 3}))
	for want, u := range map[string]explore.Use[limiter.State]{
		"no cell":            {},
		"callers: found 65;": {Cell: cell, Callers: 65},
		"callers: found -1;": {Cell: cell, Callers: -1},
		"memory: found -1ns": {Cell: cell, Memory: -1},
	} {
		if _, err := explore.ForCell(u); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// Marks near the ends of the line are written as the interpreter reads them.
func TestFarMarks(t *testing.T) {
	for _, start := range []clock.Mark{clock.Never - 5, clock.Always + 5, clock.Always} {
		u := explore.Use[bulkhead.State]{Cell: must(bulkhead.New(bulkhead.Config{Concurrent: 1, Lease: 3})), New: "concurrent=1 lease=3ns", Callers: 2,
			Alphabet: kinds(reducer.Acquire, reducer.Tick)}
		m := must(explore.ForCell(u))
		m.Start, m.Marks.After = start, []time.Duration{1}
		m.Invariants = []explore.Invariant[explore.Room[bulkhead.State], explore.Deed, reducer.Effects]{{Name: "n", State: func(_ explore.Room[bulkhead.State], now clock.Mark) error {
			if now == start+3 {
				return errors.New("there")
			}
			return nil
		}}}
		_, err := explore.Run(m, explore.Limits{Depth: 4})
		var v *explore.Violation
		if !errors.As(err, &v) {
			t.Fatal(err)
		}
		runs(t, v.Script, script.Spec[bulkhead.State]{New: makePlaces})
	}
}
