package proptest

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/reducer/explore"
)

// The other tests of this package draw histories. The explored ones take all
// histories of small machines up to a depth; most of them reach every state of the
// machine.

// exploredLine is an invariant that holds in every state and at every step of a
// machine, and that fires on a mutant.
type exploredLine struct {
	name      string
	statement string
	// machine is the explored machine, with its size.
	machine string
	// run explores the machine with this invariant alone.
	run func() (explore.Result, error)
	// mutant describes the defect of the mutant, and fires explores it.
	mutant string
	fires  func() (explore.Result, error)
}

// exploration is one machine with all of its invariants.
type exploration struct {
	machine string
	// depth up to which all paths are taken; one that is complete before it has been
	// explored to every depth.
	depth int
	run   func() (explore.Result, error)
	lines []exploredLine
}

// explorations are all there are.
var explorations = slices.Concat(exploredCells, exploredFlows)

// exploredLines are the lines of all explorations.
var exploredLines = func() (all []exploredLine) {
	for _, e := range explorations {
		all = append(all, e.lines...)
	}
	return all
}()

// TestExplored takes every path of every machine, with all invariants at once.
func TestExplored(t *testing.T) {
	for _, e := range explorations {
		t.Run(e.machine, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			r, err := e.run()
			t.Logf("%s, %v, levels %v", r, time.Since(began).Round(time.Millisecond), r.Levels)
			if err != nil {
				t.Fatal(err)
			}
			if r.Depth < e.depth && !r.Complete {
				t.Errorf("explored to depth %d, not %d", r.Depth, e.depth)
			}
		})
	}
}

// TestExploredMutants plants one defect for each line, which its invariant finds.
func TestExploredMutants(t *testing.T) {
	for _, line := range exploredLines {
		t.Run(line.machine+"/"+line.name, func(t *testing.T) {
			t.Parallel()
			_, err := line.fires()
			var v *explore.Violation
			if !errors.As(err, &v) || v.Invariant != line.name {
				t.Fatalf("%s: a machine that %s: %v", line.name, line.mutant, err)
			}
			t.Logf("%s: a machine that %s\n%s", line.name, line.mutant, v.Script)
		})
	}
}

// TestExploredTable checks the table itself.
func TestExploredTable(t *testing.T) {
	seen := map[string]bool{}
	for _, line := range exploredLines {
		name := line.machine + " " + line.name
		if seen[name] || line.statement == "" || line.mutant == "" || line.run == nil {
			t.Errorf("%s: the line is not complete, or there are two", name)
		}
		seen[name] = true
	}
}

// Short names for the types of a cell's exploration.
type (
	room[S any]        = explore.Room[S]
	passage[S any]     = explore.Transition[explore.Room[S], explore.Deed, reducer.Effects]
	checked[S any]     = explore.Invariant[explore.Room[S], explore.Deed, reducer.Effects]
	cellModel[S any]   = explore.Model[explore.Room[S], explore.Deed, reducer.Effects]
	law[S any]         func(c scene[S]) checked[S]
	defect[S any]      func(sound reducer.Cell[S]) reducer.Cell[S]
	relativeKey[S any] func(dst []byte, r room[S], now clock.Mark) []byte
)

// scene is a cell, its use, and its invariants.
type scene[S any] struct {
	name  string
	depth int
	use   explore.Use[S]
	marks explore.Marks
	// late are the actions with permits and tickets that are over, at every state.
	late []reducer.Action
	// key omits the parts that no step depends on. nil for a key in which all marks
	// count from now: no cell depends on absolute marks (G8).
	key relativeKey[S]
	// plain sets words of a state that no step reads to one value. nil where there
	// are none.
	plain func(S) S
	// last reads the last mark, false for a state that keeps none, or none yet.
	last func(s *S) (clock.Mark, bool)
	// move shifts the marks in a permit, the marks of effects included.
	move  func(p reducer.Permit, by time.Duration) reducer.Permit
	rules []ruled[S]
	// scratch holds encodings that are compared.
	scratch *[2][]byte
}

// ruled is an invariant of a scene with its mutant.
type ruled[S any] struct {
	name      string
	statement string
	holds     law[S]
	mutant    string
	plant     defect[S]
}

// model makes a model of the scene with some of its rules.
func (s scene[S]) model(rules []ruled[S]) cellModel[S] {
	s.scratch = &[2][]byte{}
	m := must(explore.ForCell(s.use))
	m.Marks = s.marks
	m.Key = func(dst []byte, r room[S], now clock.Mark) []byte { return s.appendKey(dst, r, now) }
	for _, r := range rules {
		rule := r.holds(s)
		rule.Name = r.name
		m.Invariants = append(m.Invariants, rule)
	}
	return m
}

func (s scene[S]) explore(rules ...ruled[S]) (explore.Result, error) {
	return explore.Run(s.model(rules), explore.Limits{Depth: s.depth, States: mostStates})
}

// mostStates of an exploration.
const mostStates = 2_000_000

// planted is the scene with a defect in its cell.
func (s scene[S]) planted(d defect[S]) scene[S] {
	s.use.Cell = d(s.use.Cell)
	return s
}

// exploration makes the table's lines of the scene.
func (s scene[S]) exploration() exploration {
	e := exploration{machine: s.name, depth: s.depth, run: func() (explore.Result, error) { return s.explore(s.rules...) }}
	for _, r := range s.rules {
		e.lines = append(e.lines, exploredLine{name: r.name, statement: r.statement, machine: s.name, mutant: r.mutant,
			run:   func() (explore.Result, error) { return s.explore(r) },
			fires: func() (explore.Result, error) { return s.planted(r.plant).explore(r) },
		})
	}
	return e
}

func (s scene[S]) appendKey(dst []byte, r room[S], now clock.Mark) []byte {
	if s.key != nil {
		return s.key(dst, r, now)
	}
	if s.plain != nil {
		r.State = s.plain(r.State)
	}
	by := clock.Mark(0).Sub(now)
	return explore.AppendKey(dst, s.moved(r, reducer.ValuesOf(s.use.Cell).Shift(r.State, by), by), 0)
}

// encoded is the encoded state, in one of two places.
func (s scene[S]) encoded(state S, place int) []byte {
	s.scratch[place] = s.use.Cell.Encode(s.scratch[place][:0], &state)
	return s.scratch[place]
}

// equal compares states.
func (s scene[S]) equal(a, b S) bool { return bytes.Equal(s.encoded(a, 0), s.encoded(b, 1)) }

// told reports whether the keys of two rooms differ.
func (s scene[S]) told(a room[S], now clock.Mark, b room[S], then clock.Mark) bool {
	s.scratch[0] = s.appendKey(s.scratch[0][:0], a, now)
	s.scratch[1] = s.appendKey(s.scratch[1][:0], b, then)
	return bytes.Equal(s.scratch[0], s.scratch[1])
}

// moved is the room with another state, and with all marks in its books shifted.
func (s scene[S]) moved(r room[S], state S, by time.Duration) room[S] {
	r.State, r.Bytes = state, s.use.Cell.Encode(nil, &state)
	r.Callers, r.Recent = slices.Clone(r.Callers), slices.Clone(r.Recent)
	for i := range r.Callers {
		c := &r.Callers[i]
		c.Permit, c.Since = s.move(c.Permit, by), c.Since.Add(by)
	}
	for i := range r.Recent {
		g := &r.Recent[i]
		g.Permit, g.At = s.move(g.Permit, by), g.At.Add(by)
	}
	return r
}
