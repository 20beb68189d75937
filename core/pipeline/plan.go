package pipeline

import (
	"errors"
	"slices"
	"strconv"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/reducer"
)

// Plan is a compiled policy, immutable. It is the machine whose states are
// calls; what it asks of cells it says in effects.
type Plan struct {
	name     string
	steps    []Step
	stages   []stage
	retry    int // index of the retry step, -1 for none
	fallback *fallback.Config
	breakers uint16 // enforced breakers below the retry
	timeouts uint16 // timeout steps
	asks     uint16 // steps whose cell is asked for a permit
	keyed    uint16 // steps with a cell for each key
	random   bool   // a delay depends on the seed of the call
}

// stage is what was compiled from a step. It stands beside the step, not in it:
// the settings of five mechanisms are not what a call looks at.
type stage struct {
	kind    Kind
	shadow  bool
	timeout *timeout.Machine
	retry   *retry.Machine
	maker   cell.Maker // nil without shared state
}

// Deadline is the name of the timeout that a call brings with it.
const Deadline = "deadline"

var (
	errNoSteps = errors.New("steps: a policy has 1 to 16 steps")
	errRetries = errors.New("steps: one may be a retry")
)

// Compile validates a policy and makes a plan of it. The error names the step
// and wraps the reducer.ConfigError of its mechanism.
func Compile(p Policy) (*Plan, error) {
	if len(p.Steps) == 0 || len(p.Steps) > MaxSteps {
		return nil, errNoSteps
	}
	plan := &Plan{name: p.Name, steps: slices.Clone(p.Steps), stages: make([]stage, len(p.Steps)), retry: -1}
	if p.Fallback != nil {
		f, err := fallback.New(*p.Fallback)
		if err != nil {
			return nil, err
		}
		plan.fallback = &f
	}
	for i := range plan.steps {
		step, s := &plan.steps[i], &plan.stages[i]
		if step.Kind() == Retry {
			if plan.retry >= 0 {
				return nil, errRetries
			}
			plan.retry = i
		}
		if err := s.compile(step); err != nil {
			return nil, &StepError{Index: i, Kind: step.Kind(), Err: err}
		}
		plan.random = plan.random || s.retry != nil && s.retry.Random()
		if s.maker != nil && step.Kind() != Retry {
			plan.asks |= 1 << i
		}
		if len(step.Per) > 0 {
			plan.keyed |= 1 << i
		}
		if step.Kind() == Timeout {
			plan.timeouts |= 1 << i
		}
		if step.Kind() == Breaker && !step.Shadow && plan.retry >= 0 {
			plan.breakers |= 1 << i
		}
	}
	return plan, plan.nameSteps()
}

func (s *stage) compile(step *Step) (err error) {
	s.kind, s.shadow = step.Kind(), step.Shadow
	switch step.Kind() {
	case Timeout:
		s.timeout, err = timeout.New(ConfigOf[timeout.Config](*step))
	case Retry:
		if s.retry, err = retry.New(ConfigOf[retry.Config](*step)); err == nil && s.retry.Budget() != nil {
			s.maker = cell.ForBudget(s.retry.Budget())
		}
	case Breaker:
		s.maker, err = cell.ForBreaker(ConfigOf[breaker.Config](*step))
	case Limit:
		s.maker, err = cell.ForLimit(ConfigOf[limiter.Config](*step))
	case Bulkhead:
		s.maker, err = cell.ForBulkhead(ConfigOf[bulkhead.Config](*step))
	default:
		err = reducer.BadCount("kind", uint64(step.Kind()), "a mechanism of this package")
	}
	return err
}

// nameSteps gives unnamed steps their names: the mechanism, then limit-2 for
// the second limit.
func (p *Plan) nameSteps() error {
	var seen [mechanism.Kinds]int
	for i := range p.steps {
		s := &p.steps[i]
		seen[s.Kind()]++
		if s.Name == "" {
			s.Name = s.Kind().String()
			if n := seen[s.Kind()]; n > 1 {
				s.Name += "-" + strconv.Itoa(n)
			}
		}
		if s.Name == Deadline {
			return &StepError{Index: i, Kind: s.Kind(), Err: errReserved}
		}
		for j := range i {
			if p.steps[j].Name == s.Name {
				return &StepError{Index: i, Kind: s.Kind(), Err: errTwins}
			}
		}
	}
	return nil
}

var (
	errReserved = errors.New("name: deadline is reserved")
	errTwins    = errors.New("name: another step has it")
)

// StepError says which step of a policy is wrong.
type StepError struct {
	Index int
	Kind  Kind
	Err   error
}

// Error implements error.
func (e *StepError) Error() string {
	return "steps[" + strconv.Itoa(e.Index) + "]." + e.Kind.String() + "." + e.Err.Error()
}

// Unwrap returns the mechanism's error.
func (e *StepError) Unwrap() error { return e.Err }

// Name returns the policy's name.
func (p *Plan) Name() string { return p.name }

// Len returns the number of steps.
func (p *Plan) Len() int { return len(p.steps) }

// Step returns a step with its name filled in.
func (p *Plan) Step(i int) Step { return p.steps[i] }

// Settings is Step without the copy. It is to be read alone.
func (p *Plan) Settings(i int) *Step { return &p.steps[i] }

// Kind returns the mechanism of a step.
func (p *Plan) Kind(i int) Kind { return p.stages[i].kind }

// Per returns the attributes whose values have a cell each at a step.
func (p *Plan) Per(i int) []string { return p.steps[i].Per }

// Keyed returns the steps that have a cell for each key, as a mask.
func (p *Plan) Keyed() uint16 { return p.keyed }

// StepName returns the name of a step; that of index -1 is Deadline.
func (p *Plan) StepName(i int) string {
	if i < 0 {
		return Deadline
	}
	return p.steps[i].Name
}

// Shadow reports whether the step only watches.
func (p *Plan) Shadow(i int) bool { return i >= 0 && p.stages[i].shadow }

// RetryIndex returns the index of the retry step, -1 for none.
func (p *Plan) RetryIndex() int { return p.retry }

// Random reports whether a call needs a seed of its own.
func (p *Plan) Random() bool { return p.random }

// Fallback returns the fallback, nil for none.
func (p *Plan) Fallback() *fallback.Config { return p.fallback }

// Maker returns the maker of a step's cells, nil for a step without.
func (p *Plan) Maker(i int) cell.Maker { return p.stages[i].maker }

// Asks reports whether a call asks the cell of a step for a permit.
func (p *Plan) Asks(i int) bool { return p.asks&(1<<i) != 0 }

// Passes returns the action with which a call asks the cell of a step for a
// permit, and false for a step that asks none.
func (p *Plan) Passes(i int, c *Call, caller uint64) (reducer.Action, bool) {
	if !p.Asks(i) {
		return reducer.Action{}, false
	}
	return reducer.Action{Kind: reducer.Acquire, Cost: c.Cost, Permit: reducer.Permit{ID: caller}}, true
}

// EndsAt returns the mark of the next end that the call brings about itself: a
// timeout or the end of a wait. clock.Never for none.
func (p *Plan) EndsAt(c *Call) clock.Mark {
	at := c.Deadline
	for left := p.timeouts &^ c.Fired; left != 0; left &= left - 1 {
		if i := lowest(left); i < int(c.Entered) {
			at = min(at, c.Slots[i].Mark)
		}
	}
	if c.Phase == Waiting {
		at = min(at, c.Until)
	}
	for left := c.Phantom; left != 0; left &= left - 1 {
		at = min(at, clock.Mark(c.Slots[lowest(left)].Generation))
	}
	return at
}

// CutAt returns the mark at which the call is cut if nothing else happens,
// clock.Never for none. Timeouts in shadow cut nothing.
func (p *Plan) CutAt(c *Call) clock.Mark {
	at := c.Deadline
	for left := p.timeouts; left != 0; left &= left - 1 {
		if i := lowest(left); i < int(c.Entered) && !p.stages[i].shadow {
			at = min(at, c.Slots[i].Mark)
		}
	}
	return at
}

// DeadlineAt returns the mark at which a timeout step that the call has passed
// cuts it, clock.Never for none and in shadow.
func (p *Plan) DeadlineAt(c *Call, i int) clock.Mark {
	if s := &p.stages[i]; s.timeout == nil || s.shadow || i >= int(c.Entered) {
		return clock.Never
	}
	return c.Slots[i].Mark
}

// SoftAt returns the mark at which a timeout step that the call has passed is
// worth a warning, clock.Never for none.
func (p *Plan) SoftAt(c *Call, i int) clock.Mark {
	t := p.stages[i].timeout
	if t == nil || i >= int(c.Entered) {
		return clock.Never
	}
	return t.Warn(c.Slots[i].Mark.Add(-ConfigOf[timeout.Config](p.steps[i]).After))
}

// ResumesAt returns the mark at which the next attempt starts, clock.Never for none.
func (p *Plan) ResumesAt(c *Call) clock.Mark {
	if c.Phase == Sleeping {
		return c.Until
	}
	return clock.Never
}

// WaitUntil moves the end of the wait at a step. When a wait is over at the
// mark of its turn, the driver moves it out of the way, serves the queue, and
// moves it back if somebody else was served.
func (p *Plan) WaitUntil(c *Call, step int, at clock.Mark) {
	if c.Phase == Waiting && int(c.At) == step {
		c.Until = at
	} else if c.Phantom&(1<<step) != 0 {
		c.Slots[step].Generation = uint64(at)
	}
}
