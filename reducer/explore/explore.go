package explore

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// Model is what is explored: a machine with states S, actions A and effects E.
type Model[S, A, E any] struct {
	// Machine takes the steps. Its Reduce must not change the state that it is
	// given. Required.
	Machine reducer.Machine[S, A, E]
	// Start is the mark of Init, and of the first actions.
	Start clock.Mark
	// Marks says when the next action may come.
	Marks Marks
	// Actions appends what may happen to the state at the mark. Required.
	Actions func(dst []A, state S, at clock.Mark) []A
	// Key appends bytes that distinguish a state at a mark from others. Required.
	Key func(dst []byte, state S, now clock.Mark) []byte
	// Invariants are what must hold.
	Invariants []Invariant[S, A, E]
	// Script says how a path is written.
	Script Script[S, A, E]
}

// Invariant is a rule that must hold.
type Invariant[S, A, E any] struct {
	// Name of the rule, as in "K1".
	Name string
	// State is checked at every state. nil for no check.
	State func(state S, now clock.Mark) error
	// Step is checked at every transition, also to a state that is known. nil for
	// no check.
	Step func(t Transition[S, A, E]) error
}

// Transition is one step.
type Transition[S, A, E any] struct {
	Before  S
	Action  A
	At      clock.Mark // of the action
	Now     clock.Mark // the latest mark so far, At unless time went backwards
	Effects E
	After   S
}

// Marks says at which marks an action may come. All that are named are tried,
// each once, the earliest first; without any, the present mark is.
type Marks struct {
	// At are fixed marks. Those before the present one are left out.
	At []clock.Mark
	// After is counted from the present mark. A negative one lets time go
	// backwards for the machine; the present mark stays.
	After []time.Duration
	// Wake is counted from the next wake, where there is one. What is before the
	// present mark is left out.
	Wake []time.Duration
}

// Limits bound a run.
type Limits struct {
	// Depth is the most steps of a path, 1 or more.
	Depth int
	// States is the most states that are kept, 1 or more; 0 means a million.
	States int
}

const usualStates = 1_000_000

// Result says how much a run explored.
type Result struct {
	// States that differ by their keys, the first one among them.
	States int
	// Transitions that were taken.
	Transitions int
	// Depth is the number of steps up to which all paths were taken.
	Depth int
	// Levels has the number of new states of each depth, the first state's
	// first.
	Levels []int
	// Complete: no path of any length leads to another state.
	Complete bool
}

// String says it in a line.
func (r Result) String() string {
	text := strconv.Itoa(r.States) + " states, " + strconv.Itoa(r.Transitions) + " transitions, depth " + strconv.Itoa(r.Depth)
	if r.Complete {
		text += ", complete"
	}
	return text
}

// LimitError says that a model has more states than a run may keep.
type LimitError struct {
	States int // the limit
	Depth  int // at which it was reached
}

// Error implements error.
func (e *LimitError) Error() string {
	return "explore: more than " + strconv.Itoa(e.States) + " states at depth " + strconv.Itoa(e.Depth) +
		": allow more, or have fewer by a smaller alphabet, fewer marks or a coarser key"
}

var (
	errMachine = errors.New("explore: the model has no machine")
	errActions = errors.New("explore: the model has no actions")
	errKey     = errors.New("explore: the model has no key")
)

// Run explores the model. The error is nil when every invariant holds
// everywhere, else a *Violation; a *LimitError when there are too many states, with
// the result of the exploration until then; or it says what is wrong with the model
// or the limits.
func Run[S, A, E any](m Model[S, A, E], l Limits) (Result, error) {
	switch {
	case m.Machine == nil:
		return Result{}, errMachine
	case m.Actions == nil:
		return Result{}, errActions
	case m.Key == nil:
		return Result{}, errKey
	case l.Depth < 1:
		return Result{}, bad("depth", l.Depth, "1 or more")
	case l.States < 0:
		return Result{}, bad("states", l.States, "1 or more, or 0")
	case l.States == 0:
		l.States = usualStates
	}
	r := &run[S, A, E]{model: &m, limits: l, seen: map[string]struct{}{}}
	err := r.all()
	return r.result, err
}

func bad(field string, found int, allowed string) error {
	return &reducer.ConfigError{Field: field, Value: strconv.Itoa(found), Allowed: allowed}
}

// run is an exploration under way.
type run[S, A, E any] struct {
	model  *Model[S, A, E]
	limits Limits
	result Result
	seen   map[string]struct{} // keys
	steps  []step[A]           // how each state was first reached

	key     []byte
	marks   []clock.Mark
	actions []A
}

// step is the last one of a shortest path to a state.
type step[A any] struct {
	before int // state that it starts from, -1 for the first state
	action A
	at     clock.Mark
}

// place is a state that was reached and not yet left.
type place[S any] struct {
	state S
	now   clock.Mark
	index int // in run.steps
}

func (r *run[S, A, E]) all() error {
	m := r.model
	level, err := r.reach(nil, m.Machine.Init(m.Start), m.Start, step[A]{before: -1})
	for len(level) > 0 && err == nil {
		r.result.Levels = append(r.result.Levels, len(level))
		if r.result.Depth == r.limits.Depth {
			return nil
		}
		if level, err = r.leave(level); err == nil {
			r.result.Depth++
		}
	}
	r.result.Complete = err == nil
	return err
}

// leave takes all steps from the states of a level, and returns the new states.
func (r *run[S, A, E]) leave(level []place[S]) (next []place[S], err error) {
	for i := range level {
		from := level[i]
		level[i] = place[S]{} // states of earlier levels are not needed any more
		for _, at := range r.when(from) {
			r.actions = r.model.Actions(r.actions[:0], from.state, at)
			for _, action := range r.actions {
				if next, err = r.take(next, from, action, at); err != nil {
					return nil, err
				}
			}
		}
	}
	return next, nil
}

// take takes one step, and appends the state after it when it is new.
func (r *run[S, A, E]) take(next []place[S], from place[S], action A, at clock.Mark) ([]place[S], error) {
	m := r.model
	after, effects := m.Machine.Reduce(from.state, action, at)
	r.result.Transitions++
	now := max(from.now, at)
	last := step[A]{from.index, action, at}
	t := Transition[S, A, E]{Before: from.state, Action: action, At: at, Now: now, Effects: effects, After: after}
	for i := range m.Invariants {
		if holds := m.Invariants[i].Step; holds != nil {
			if err := holds(t); err != nil {
				return nil, r.violation(m.Invariants[i].Name, err, last)
			}
		}
	}
	return r.reach(next, after, now, last)
}

// reach appends the state when it is new, and asks whether all holds there.
func (r *run[S, A, E]) reach(next []place[S], state S, now clock.Mark, last step[A]) ([]place[S], error) {
	m := r.model
	r.key = m.Key(r.key[:0], state, now)
	if _, known := r.seen[string(r.key)]; known {
		return next, nil
	}
	if len(r.steps) == r.limits.States {
		return nil, &LimitError{States: r.limits.States, Depth: len(r.result.Levels)}
	}
	r.seen[string(r.key)] = struct{}{}
	for i := range m.Invariants {
		if holds := m.Invariants[i].State; holds != nil {
			if err := holds(state, now); err != nil {
				return nil, r.violation(m.Invariants[i].Name, err, last)
			}
		}
	}
	r.steps = append(r.steps, last)
	r.result.States = len(r.steps)
	return append(next, place[S]{state, now, len(r.steps) - 1}), nil
}

// when returns the marks of the next action.
func (r *run[S, A, E]) when(from place[S]) []clock.Mark {
	m := &r.model.Marks
	all := r.marks[:0]
	for _, at := range m.At {
		if at >= from.now {
			all = append(all, at)
		}
	}
	for _, d := range m.After {
		all = append(all, from.now.Add(d))
	}
	if len(m.Wake) > 0 {
		if wake, ok := r.model.Machine.NextWake(from.state); ok {
			for _, d := range m.Wake {
				if at := wake.Add(d); at >= from.now {
					all = append(all, at)
				}
			}
		}
	}
	if len(m.At)+len(m.After)+len(m.Wake) == 0 {
		all = append(all, from.now)
	}
	slices.Sort(all)
	r.marks = slices.Compact(all)
	return r.marks
}
