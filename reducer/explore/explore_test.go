package explore_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/reducer/explore"
)

// sums is a machine whose states are numbers modulo something, and whose actions
// are added or, when negative, double it. It wakes at its number of nanoseconds.
type sums struct{ modulo int }

func (sums) Init(clock.Mark) int { return 1 }

func (m sums) Reduce(n, action int, _ clock.Mark) (int, string) {
	if action < 0 {
		return 2 * n % m.modulo, "doubled"
	}
	return (n + action) % m.modulo, "added"
}

func (sums) NextWake(n int) (clock.Mark, bool) { return clock.Mark(n), n%2 == 0 }

type (
	model      = explore.Model[int, int, string]
	invariant  = explore.Invariant[int, int, string]
	transition = explore.Transition[int, int, string]
)

func counting(modulo int) model {
	return model{
		Machine: sums{modulo},
		Actions: func(dst []int, _ int, _ clock.Mark) []int { return append(dst, 1, -1) },
		Key: func(dst []byte, n int, _ clock.Mark) []byte {
			return binary.LittleEndian.AppendUint64(dst, uint64(n))
		},
	}
}

// A run that finds nothing new before its depth says that it has seen all.
func TestComplete(t *testing.T) {
	m := counting(8)
	steps := 0
	m.Invariants = []invariant{{Name: "none", Step: func(transition) error { steps++; return nil }}, {Name: "neither"}}
	r, err := explore.Run(m, explore.Limits{Depth: 100})
	want := explore.Result{States: 8, Transitions: 16, Depth: 5, Levels: []int{1, 1, 2, 3, 1}, Complete: true}
	if err != nil || !reflect.DeepEqual(r, want) || steps != r.Transitions {
		t.Errorf("%+v, %v, %d steps", r, err, steps)
	}
	if r.String() != "8 states, 16 transitions, depth 5, complete" {
		t.Error(r)
	}
	r, err = explore.Run(m, explore.Limits{Depth: 2})
	if err != nil || r.Complete || r.Depth != 2 || !slices.Equal(r.Levels, []int{1, 1, 2}) || r.String() != "4 states, 4 transitions, depth 2" {
		t.Errorf("%+v, %v", r, err)
	}
}

// shortest is the least number of steps to a number, found in another way: from
// the end.
func shortest(modulo, to int) int {
	far := make([]int, modulo)
	for i := range far {
		far[i] = modulo
	}
	far[to] = 0
	for range modulo {
		for n := range far {
			far[n] = min(far[n], 1+far[(n+1)%modulo], 1+far[2*n%modulo])
		}
	}
	return far[1]
}

// What is found has the fewest steps, whether a state or a transition is wrong,
// and its script leads there.
func TestShortest(t *testing.T) {
	const modulo = 61
	for bad := range modulo {
		m := counting(modulo)
		m.Script.Action = func(dst []byte, a int) []byte { return strconv.AppendInt(dst, int64(a), 10) }
		for _, rule := range []invariant{
			{Name: "state", State: func(n int, _ clock.Mark) error {
				if n == bad {
					return errors.New("there")
				}
				return nil
			}},
			{Name: "step", Step: func(t transition) error {
				if t.After == bad && t.Before != bad {
					return errors.New("there")
				}
				return nil
			}},
		} {
			if rule.Name == "step" && bad == 1 {
				continue // the first state
			}
			m.Invariants = []invariant{rule}
			_, err := explore.Run(m, explore.Limits{Depth: modulo})
			var v *explore.Violation
			if !errors.As(err, &v) || v.Steps != shortest(modulo, bad) || v.Invariant != rule.Name {
				t.Fatalf("%s %d: %v, shortest %d", rule.Name, bad, err, shortest(modulo, bad))
			}
			if end := follow(t, v.Script, modulo); end != bad {
				t.Fatalf("%d: the script leads to %d:\n%s", bad, end, v.Script)
			}
		}
	}
}

// follow plays a script of sums.
func follow(t *testing.T, script string, modulo int) int {
	n := 1
	if _, lines, ok := strings.Cut(script, "run\n"); ok {
		lines, _, _ = strings.Cut(lines, "----\n")
		for line := range strings.Lines(lines) {
			var at string
			var action int
			if _, err := fmt.Sscan(line, &at, &action); err != nil {
				t.Fatal(err)
			}
			n, _ = sums{modulo}.Reduce(n, action, 0)
		}
	}
	return n
}

func TestViolation(t *testing.T) {
	m := counting(8)
	wrong := errors.New("two\nlines")
	m.Start = 3
	m.Invariants = []invariant{{Name: "none", State: func(n int, _ clock.Mark) error {
		if n == 4 {
			return wrong
		}
		return nil
	}}}
	_, err := explore.Run(m, explore.Limits{Depth: 9})
	// Without functions to write them, actions are question marks.
	const want = "none does not hold after 2 steps: two\nlines\n\n" +
		"# none: two lines\nnew at=3ns\n----\n\n\nrun\n3ns ?\n3ns ?\n----\n3ns ?    , wake 2ns\n3ns ?    , wake 4ns\n"
	if !errors.Is(err, wrong) || err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}

func TestMarks(t *testing.T) {
	for _, c := range []struct {
		marks explore.Marks
		start clock.Mark
		want  []clock.Mark // of the first step
		now   []clock.Mark // after each
	}{
		{explore.Marks{}, 7, []clock.Mark{7}, []clock.Mark{7}},
		{explore.Marks{At: []clock.Mark{9, 5, 7}}, 7, []clock.Mark{7, 9}, []clock.Mark{7, 9}},
		{explore.Marks{At: []clock.Mark{5}}, 7, nil, nil},
		{explore.Marks{After: []time.Duration{1, 0, -2, 1}}, 7, []clock.Mark{5, 7, 8}, []clock.Mark{7, 7, 8}},
		{explore.Marks{After: []time.Duration{1}}, clock.Never - 1, []clock.Mark{clock.Never}, []clock.Mark{clock.Never}},
		{explore.Marks{Wake: []time.Duration{0}}, 7, nil, nil}, // an odd number does not wake
	} {
		m := counting(8)
		m.Start, m.Marks = c.start, c.marks
		m.Actions = func(dst []int, _ int, _ clock.Mark) []int { return append(dst, 1) }
		var at, now []clock.Mark
		m.Invariants = []invariant{{Name: "marks", Step: func(t transition) error {
			at, now = append(at, t.At), append(now, t.Now)
			return nil
		}}}
		if _, err := explore.Run(m, explore.Limits{Depth: 1}); err != nil || !slices.Equal(at, c.want) || !slices.Equal(now, c.now) {
			t.Errorf("%+v: at %v, now %v, %v", c.marks, at, now, err)
		}
	}
	// From 1 at 0 to 2 at 0, which wakes at 2; what lies before now is left out.
	m := counting(8)
	m.Marks = explore.Marks{Wake: []time.Duration{-3, -1, 0}, After: []time.Duration{0}}
	m.Actions = func(dst []int, _ int, _ clock.Mark) []int { return append(dst, 1) }
	var at []clock.Mark
	m.Invariants = []invariant{{Name: "marks", Step: func(t transition) error { at = append(at, t.At); return nil }}}
	if _, err := explore.Run(m, explore.Limits{Depth: 2}); err != nil || !slices.Equal(at, []clock.Mark{0, 0, 1, 2}) {
		t.Errorf("at %v, %v", at, err)
	}
}

// Actions may depend on the state and the mark.
func TestActionsOfTheState(t *testing.T) {
	m := counting(1_000)
	m.Marks.After = []time.Duration{0, 5}
	m.Actions = func(dst []int, n int, at clock.Mark) []int {
		if n == 1 && at == 5 {
			return append(dst, 41)
		}
		return dst
	}
	r, err := explore.Run(m, explore.Limits{Depth: 9})
	if err != nil || r.States != 2 || r.Transitions != 1 || !r.Complete {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestLimits(t *testing.T) {
	m := counting(1_000)
	r, err := explore.Run(m, explore.Limits{Depth: 50, States: 100})
	var full *explore.LimitError
	if !errors.As(err, &full) || full.States != 100 || r.States != 100 || r.Complete || full.Depth != r.Depth+1 || !strings.Contains(err.Error(), "more than 100 states at depth 9") {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := explore.Run(counting(100), explore.Limits{Depth: 50, States: 100}); err != nil || !r.Complete {
		t.Errorf("%+v, %v", r, err)
	}
	none, noKey, noActions := counting(8), counting(8), counting(8)
	none.Machine, noKey.Key, noActions.Actions = nil, nil, nil
	for want, run := range map[string]func() error{
		"no machine":                    func() error { _, err := explore.Run(none, explore.Limits{Depth: 1}); return err },
		"no key":                        func() error { _, err := explore.Run(noKey, explore.Limits{Depth: 1}); return err },
		"no actions":                    func() error { _, err := explore.Run(noActions, explore.Limits{Depth: 1}); return err },
		"depth: found 0; allowed 1 or":  func() error { _, err := explore.Run(m, explore.Limits{}); return err },
		"states: found -1; allowed 1 o": func() error { _, err := explore.Run(m, explore.Limits{Depth: 1, States: -1}); return err },
	} {
		if err := run(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// Two runs go the same way.
func TestDeterministic(t *testing.T) {
	var first []transition
	for range 2 {
		m := counting(97)
		m.Marks.After = []time.Duration{0, 1, 2}
		var all []transition
		m.Invariants = []invariant{{Name: "all", Step: func(t transition) error { all = append(all, t); return nil }}}
		if _, err := explore.Run(m, explore.Limits{Depth: 9}); err != nil {
			t.Fatal(err)
		}
		if first != nil && !slices.Equal(first, all) {
			t.Error("another way")
		}
		first = all
	}
}

var _ reducer.Machine[int, int, string] = sums{}
