package pipeline

import (
	"slices"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/chaos"
	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/reducer"
)

// Plan is a compiled policy, immutable. It is the machine whose states are calls; its
// effects say what to do with cells.
type Plan struct {
	name     string
	steps    []Step
	policy   Policy // its conditions alone
	stages   []stage
	retry    int // index of the retry step, -1 for none
	fallback *fallback.Config
	hedge    int // index of the hedge step, -1 for none
	chaos    int // index of the chaos step, which is the last one, -1 for none
	// traits are the traits of all steps, and having the steps of each trait, a mask for each
	// bit.
	traits   mechanism.Traits
	having   [mechanism.MaxTraits]uint16
	timeouts uint16 // timeout steps
	// The masks that follow from several traits, or from steps together.
	marked    uint16 // timeouts, and the retry: an attempt that passes them has a mark there
	slowEntry uint16 // the step is strict about keys, or takes nothing before the end
	single    uint16 // a call takes one place, whatever its cost
	breakers  uint16 // breakers below the retry that are not in shadow for every call
	budgets   uint16 // the cell counts the first admission of a call
	tallies   uint16 // the budget counts how attempts end
	places    uint16 // an adaptive retry looks at these: without a free place it makes no attempt
	random    bool   // a delay, or a share, depends on the seed of the call
	// allow and deny are the conditions of the policy.
	allow, deny condition.Test
	// hedgeBudget is the step whose budget grants hedges, -1 for none.
	hedgeBudget int
}

// stage is the compiled form of a step. It is kept beside the step, not in it: a call
// does not read the settings of five mechanisms.
type stage struct {
	kind   Kind
	traits mechanism.Traits
	leases bool // a permit may lapse
	holds  bool // an attempt holds a place
	queues bool // a cell has waiters or holders, which may change with time alone
	// leaves is the action with which an attempt leaves the cell: Cancel, only where
	// it did not run, or Record with its outcome, or Release.
	leaves  reducer.Kind
	timeout *timeout.Machine
	after   time.Duration // of the timeout
	retry   *retry.Machine
	hedge   *hedge.Machine
	chaos   *chaos.Machine
	maker   cell.Maker // nil without shared state
	keys    keyed.Config
	cost    limiter.Cost
	charge  limiter.Charge
	counts  limiter.Outcomes
	beyond  uint32 // the most that the end of a call takes beyond its cost
	// under are the timeouts that bound an attempt from below the step: those above a retry
	// or a hedge that is below it.
	under uint16
	when  condition.Test
}

// Names of what decides and is no step.
const (
	// Deadline is the call's own deadline.
	Deadline = "deadline"
	// Denial is the condition of the policy on calls that it denies. A step has the name
	// only where the policy has no such condition.
	Denial = "deny"
)

// policyError is what is wrong with the steps of a policy together.
type policyError uint8

const (
	errNoSteps policyError = iota
	errPass
	errRetries
	errHedges
	errOrder
	errLast
	errReserved
	errDenial
	errTwice
	errTwins
)

// Error implements error.
func (e policyError) Error() string {
	switch e {
	case errNoSteps:
		return "steps: a policy has 1 to 16 steps, or Pass"
	case errPass:
		return "pass: a policy with steps has none"
	case errRetries:
		return "steps: one may be a retry"
	case errHedges:
		return "steps: one may be a hedge"
	case errOrder:
		return "steps: a hedge is below the retry"
	case errLast:
		return "steps: a chaos is the last step"
	case errReserved:
		return "name: deadline is reserved"
	case errDenial:
		return "name: deny is reserved beside the policy's deny"
	case errTwice:
		return "mechanism: another step has its state"
	}
	return "name: another step has it"
}

// Compile validates a policy and makes a plan of it. The error describes each wrong
// step: a StepError, or several that errors.Join joined; without reducer.ErrorTexts the
// first. One about a mechanism's settings wraps its reducer.ConfigError.
func Compile(p Policy) (*Plan, error) {
	switch {
	case p.Pass && len(p.Steps) > 0:
		return nil, errPass
	case len(p.Steps) == 0 && !p.Pass || len(p.Steps) > MaxSteps:
		return nil, errNoSteps
	}
	plan := &Plan{name: p.Name, steps: slices.Clone(p.Steps), policy: Policy{Allow: p.Allow, Deny: p.Deny}, stages: make([]stage, len(p.Steps)), retry: -1, hedge: -1, chaos: -1}
	if p.Fallback != nil {
		f, err := fallback.New(*p.Fallback)
		if err != nil {
			return nil, err
		}
		plan.fallback = &f
	}
	var wrong reducer.ConfigErrors
	for _, c := range [...]struct {
		name string
		from condition.Condition
		to   *condition.Test
	}{{"allow", p.Allow, &plan.allow}, {"deny", p.Deny, &plan.deny}} {
		var err error
		if *c.to, err = condition.New(c.name, c.from); err != nil {
			return nil, err
		}
	}
	for i := range plan.steps {
		step, s := &plan.steps[i], &plan.stages[i]
		wrongSettings := s.compile(step)
		if err := plan.place(i, s.traits); err != nil {
			return nil, err
		}
		for _, err := range [...]error{wrongSettings, s.bound(step), s.limitTo(step)} {
			var of reducer.ConfigErrors
			of.Add(err)
			for _, err := range of {
				wrong = append(wrong, wrongStep(i, step, err))
			}
		}
		plan.random = plan.random || step.Enforce.Partial() || s.retry != nil && s.retry.Random() || s.chaos != nil
		plan.note(i, s.traits|stepTraits(step, s))
	}
	if err := append(wrong, plan.nameSteps()...).Err(); err != nil {
		return nil, err
	}
	plan.combine()
	plan.findBudgets()
	plan.findTimeouts()
	return plan, nil
}

// place notes which steps make attempts, at most one retry and at most one hedge below
// it, and the step that injects results, which is the last one.
func (p *Plan) place(i int, traits mechanism.Traits) error {
	repeats, hedges, injects := traits.Has(mechanism.Repeats), traits.Has(mechanism.Hedges), traits.Has(mechanism.Injects)
	switch {
	case repeats && p.retry >= 0:
		return errRetries
	case repeats && p.hedge >= 0:
		return errOrder
	case repeats:
		p.retry = i
	case hedges && p.hedge >= 0:
		return errHedges
	case hedges:
		p.hedge = i
	case injects && i < len(p.steps)-1:
		return errLast
	case injects:
		p.chaos = i
	}
	return nil
}

// bound takes the number of keys of a step.
func (s *stage) bound(step *Step) error {
	if len(step.Per) == 0 {
		if step.Keys != 0 || step.WhenFull != FullEvict || step.Missing != MissingShare {
			return reducer.BadCount("keys", uint64(step.Keys), "keys, when_full and missing beside per alone")
		}
		return nil
	}
	var e reducer.ConfigErrors
	e.Count(step.Missing > MissingDeny403, "missing", uint64(step.Missing), "MissingShare, MissingDeny, MissingSkip, MissingDeny401 or MissingDeny403")
	s.keys = keyed.Config{Keys: step.Keys, WhenFull: step.WhenFull}
	if step.Keys == 0 {
		s.keys.Keys = DefaultKeys
	}
	e.Add(s.keys.Check())
	return e.Err()
}

// limitTo takes the calls that a step applies to, and those that it enforces for.
func (s *stage) limitTo(step *Step) (err error) {
	if s.when, err = condition.New("when", step.When); err != nil {
		return err
	}
	if step.Shadow && step.Enforce.Of.Positive() {
		return reducer.BadShare("enforce", step.Enforce.Of, "enforce without shadow")
	}
	return step.Enforce.Check("enforce")
}

// findBudgets finds the budgets: the retry's, and the hedge's, which is the
// retry's where it has none of its own.
func (p *Plan) findBudgets() {
	retries := -1
	if p.retry >= 0 && p.stages[p.retry].maker != nil {
		retries = p.retry
		budget := p.stages[p.retry].retry.Budget()
		p.counts(p.retry, budget)
		for i := p.retry + 1; i < len(p.stages) && budget.Adapts(); i++ {
			if p.stages[i].holds && !p.steps[i].Shadow {
				p.places |= 1 << i
			}
		}
	}
	p.hedgeBudget = -1
	if p.hedge < 0 {
		return
	}
	if !p.stages[p.hedge].hedge.Config().Unbudgeted {
		p.hedgeBudget = retries
	}
	if b := p.stages[p.hedge].hedge.Budget(); b != nil {
		p.hedgeBudget = p.hedge
		p.counts(p.hedge, b)
	}
}

// findTimeouts finds the timeouts that bound attempts from below the steps whose cell takes
// the time that an attempt has.
func (p *Plan) findTimeouts() {
	for left := p.with(mechanism.Timed); left != 0; left &= left - 1 {
		i := lowest(left)
		for j := i + 1; j < len(p.stages) && j != p.retry && j != p.hedge; j++ {
			p.stages[i].under |= p.timeouts & (1 << j)
		}
	}
}

// counts notes what the budget of a step counts.
func (p *Plan) counts(i int, b *budget.Machine) {
	p.budgets |= 1 << i // of tokens, too: the admission is a use of the key
	if b.CountsEnds() {
		p.tallies |= 1 << i
	}
}

func (s *stage) compile(step *Step) error {
	s.kind = step.Kind()
	part, err := mechanisms.Compile(step.Config)
	s.traits = part.Traits
	if err != nil {
		return err
	}
	step.Config = part.Config
	if s.timeout = part.Timeout; s.timeout != nil {
		s.after = s.timeout.Deadline(0).Sub(0)
	}
	s.retry, s.hedge, s.chaos, s.maker = part.Retry, part.Hedge, part.Chaos, part.Maker
	s.cost, s.charge, s.counts, s.beyond = part.Cost, part.Charge, part.Counts, part.Beyond
	s.traits |= mechanism.Costs.If(s.cost != (limiter.Cost{})) |
		mechanism.Priced.If(s.cost.Attribute != "") |
		mechanism.Settles.If(s.charge != limiter.ChargeStart || s.counts != 0) |
		mechanism.SettlesAll.If(s.charge == limiter.ChargeEnd)
	traits := s.traits
	s.leases, s.holds = traits.Has(mechanism.Leases), traits.Has(mechanism.Holds)
	s.queues = traits.Has(mechanism.Queues) || s.holds
	switch {
	case traits.Has(mechanism.Refunds):
		s.leaves = reducer.Cancel
	case traits.Has(mechanism.Votes) || traits.Has(mechanism.Observes):
		s.leaves = reducer.Record
	default:
		s.leaves = reducer.Release
	}
	return nil
}

// nameSteps gives unnamed steps their names: the shared mechanism, or the kind, then
// limit-2 for the second limit that is not shared. It returns the errors of names.
func (p *Plan) nameSteps() (wrong []error) {
	var seen [mechanism.Kinds]int
	for i := range p.steps {
		s := &p.steps[i]
		kind := s.Kind()
		if int(kind) >= mechanism.Kinds {
			kind = 0 // is wrong already
		}
		if s.Mechanism == "" {
			seen[kind]++
		}
		switch {
		case s.Name != "":
		case s.Mechanism != "":
			s.Name = s.Mechanism
		default:
			s.Name = s.Kind().String()
			if n := seen[kind]; n > 1 {
				s.Name += "-" + digits(n)
			}
		}
		if s.Name == Deadline {
			wrong = append(wrong, wrongStep(i, s, errReserved))
		}
		if s.Name == Denial && p.deny.Some() {
			wrong = append(wrong, wrongStep(i, s, errDenial))
		}
		for j := range i {
			other := &p.steps[j]
			if s.Mechanism != "" && other.Mechanism == s.Mechanism && p.stages[i].maker != nil {
				wrong = append(wrong, wrongStep(i, s, errTwice))
				break
			}
			if other.Name == s.Name {
				wrong = append(wrong, wrongStep(i, s, errTwins))
				break
			}
		}
	}
	return wrong
}

// digits returns the digits of a number below 100. Package strconv is a kilobyte of a
// WebAssembly module, which needs it for nothing else.
func digits(n int) string {
	text := []byte{'0' + byte(n/10), '0' + byte(n%10)}
	if n < 10 {
		text = text[1:]
	}
	return string(text)
}

// StepError says which step of a policy is wrong.
type StepError struct {
	Index int
	Kind  Kind
	Err   error
}

//go:noinline
func wrongStep(i int, s *Step, err error) error {
	return &StepError{Index: i, Kind: s.Kind(), Err: err}
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

// Settings is Step without the copy. The caller must not write to it.
func (p *Plan) Settings(i int) *Step { return &p.steps[i] }

// Kind returns the mechanism of a step.
func (p *Plan) Kind(i int) Kind { return p.stages[i].kind }

// Shares returns the mechanism whose cells a step shares with steps of other policies,
// empty for a step with cells of its own or without cells.
func (p *Plan) Shares(i int) string {
	if p.stages[i].maker == nil {
		return ""
	}
	return p.steps[i].Mechanism
}

// Per returns the attributes whose values have a cell each at a step.
func (p *Plan) Per(i int) []string { return p.steps[i].Per }

// Keyed returns the steps that have a cell for each key, as a mask.
func (p *Plan) Keyed() uint16 { return p.with(mechanism.PerKey) }

// Unasked returns which of some steps, as masks, that a call passes without asking them
// because it lacks an attribute of their Per.
func (p *Plan) Unasked(lacking uint16) (unasked uint16) {
	for i := range p.steps {
		if p.steps[i].Missing == MissingSkip {
			unasked |= lacking & (1 << i)
		}
	}
	return unasked
}

// StepName returns the name of a step; CallDeadline has the name Deadline, Denied has
// Denial.
func (p *Plan) StepName(i int) string {
	switch i {
	case CallDeadline:
		return Deadline
	case Denied:
		return Denial
	}
	return p.steps[i].Name
}

// Shadow reports whether the step enforces nothing for any call.
func (p *Plan) Shadow(i int) bool { return i >= 0 && p.with(mechanism.Shadow)&(1<<i) != 0 }

// RetryIndex returns the index of the retry step, -1 for none.
func (p *Plan) RetryIndex() int { return p.retry }

// Random reports whether a step draws, so that a call needs a seed of its own. The number
// in the seed counts these calls alone: a runner that nothing draws for counts none.
func (p *Plan) Random() bool { return p.random }

// Conditions returns the conditions of the policy on the calls that it allows and denies,
// and nothing else of it.
func (p *Plan) Conditions() Policy { return p.policy }

// Policy returns the policy with the names of its steps filled in. Compile makes an equal
// plan of it.
func (p *Plan) Policy() Policy {
	policy := p.policy
	policy.Name, policy.Steps, policy.Fallback, policy.Pass = p.name, slices.Clone(p.steps), p.fallback, len(p.steps) == 0
	return policy
}

// Fallback returns the fallback, nil for none.
func (p *Plan) Fallback() *fallback.Config { return p.fallback }

// Maker returns the maker of a step's cells, nil for a step without.
func (p *Plan) Maker(i int) cell.Maker { return p.stages[i].maker }

// Queues reports whether a cell of a step has waiters or holders: time alone may
// change what it decides for them.
func (p *Plan) Queues(i int) bool { return p.stages[i].queues }

// Asks reports whether a call asks the cell of a step for a permit.
func (p *Plan) Asks(i int) bool { return p.with(mechanism.Asks)&(1<<i) != 0 }

// EndsAt returns the mark of the next end of the call itself: a timeout or the end of
// a wait. clock.Never for none.
func (p *Plan) EndsAt(c *Call) clock.Mark {
	at := min(c.Deadline, p.endsAt(&c.Attempt, p.timeouts))
	if c.Race == nil {
		return at
	}
	for k := range c.Race.Attempts {
		if a := &c.Race.Attempts[k]; a.Phase != Over {
			at = min(at, p.endsAt(a, p.timeouts&^(2<<p.hedge-1)))
		}
	}
	return at
}

// endsAt is EndsAt for an attempt that passes the timeouts of a mask itself.
func (p *Plan) endsAt(a *Attempt, timeouts uint16) clock.Mark {
	at := clock.Never
	for left := timeouts & (1<<a.Entered - 1) &^ a.Fired; left != 0; left &= left - 1 {
		at = min(at, a.Slots[lowest(left)].Mark)
	}
	if a.Phase == Waiting {
		at = min(at, a.Until)
	}
	for left := a.Phantom; left != 0; left &= left - 1 {
		at = min(at, clock.Mark(a.Slots[lowest(left)].Generation))
	}
	return at
}

// CutAt returns the mark at which the attempt k is cut if nothing else happens,
// clock.Never for none. Timeouts in shadow cut nothing.
func (p *Plan) CutAt(c *Call, k uint8) clock.Mark {
	return p.deadlineAbove(c, k, int(c.Try(k).Entered))
}

// CutBy returns the timeout step that cuts the attempt k at CutAt, the outermost of
// several, CallDeadline for the call's own deadline and for none.
func (p *Plan) CutBy(c *Call, k uint8) int {
	at := p.CutAt(c, k)
	for i := range p.steps {
		if at != c.Deadline && p.DeadlineAt(c, k, i) == at {
			return i
		}
	}
	return CallDeadline
}

// deadlineAbove returns the earliest deadline of what is above step i for the
// attempt k: the call's own and the ends of the timeouts that are not in shadow.
func (p *Plan) deadlineAbove(c *Call, k uint8, i int) clock.Mark {
	at := c.Deadline
	for left := p.timeouts & (1<<i - 1) &^ c.Shadows; left != 0; left &= left - 1 {
		j := lowest(left)
		at = min(at, p.holder(c, k, j).Slots[j].Mark)
	}
	return at
}

// BoundOf returns the mark at which the attempt k, admitted at step i at a mark, is cut at
// the latest: by a deadline or a timeout above the step, or a timeout below it that no retry
// or hedge repeats. clock.Never for none, and for a step whose cell does not take it.
func (p *Plan) BoundOf(c *Call, k uint8, i int, now clock.Mark) clock.Mark {
	if p.stages[i].traits&mechanism.Timed == 0 {
		return clock.Never
	}
	return p.bound(c, k, i, now)
}

// bound is BoundOf for a step whose cell takes it, apart from it so that BoundOf is inlined;
// for any other step it is deadlineAbove.
func (p *Plan) bound(c *Call, k uint8, i int, now clock.Mark) clock.Mark {
	at := p.deadlineAbove(c, k, i)
	for left := p.stages[i].under &^ (c.Shadows | c.Skips); left != 0; left &= left - 1 {
		at = min(at, now.Add(p.stages[lowest(left)].after))
	}
	return at
}

// Bounds is BoundOf for a call without a deadline that enters all steps but some at one mark
// and enforces them: the time from then on, 0 for none.
func (p *Plan) Bounds(i int, skips uint16) (least time.Duration) {
	if p.with(mechanism.Timed)&(1<<i) == 0 {
		return 0
	}
	for left := (p.timeouts&(1<<i-1) | p.stages[i].under) &^ (p.with(mechanism.Shadow) | skips); left != 0; left &= left - 1 {
		if after := p.stages[lowest(left)].after; least == 0 || after < least {
			least = after
		}
	}
	return least
}

// Timed reports whether the cell of a step takes the time that an attempt has.
func (p *Plan) Timed(i int) bool { return p.with(mechanism.Timed)&(1<<i) != 0 }

// Cuts returns the times after which a timeout step cuts and warns, 0 for neither.
func (p *Plan) Cuts(i int) (after, soft time.Duration) {
	s := &p.stages[i]
	if s.timeout == nil {
		return 0, 0
	}
	if warn := s.timeout.Warn(0); warn != clock.Never {
		soft = warn.Sub(0)
	}
	return s.after, soft
}

// DeadlineAt returns the mark at which a timeout step that the attempt k has
// passed cuts it, clock.Never for none and in shadow.
func (p *Plan) DeadlineAt(c *Call, k uint8, i int) clock.Mark {
	if p.timeouts&^c.Shadows&(1<<i) == 0 || i >= int(c.Try(k).Entered) {
		return clock.Never
	}
	return p.holder(c, k, i).Slots[i].Mark
}

// SoftAt returns the mark at which a timeout step that the attempt k has passed is
// worth a warning, clock.Never for none.
func (p *Plan) SoftAt(c *Call, k uint8, i int) clock.Mark {
	t := p.stages[i].timeout
	if t == nil || i >= int(c.Try(k).Entered) || c.Skipped(i) {
		return clock.Never
	}
	return t.Warn(p.holder(c, k, i).Slots[i].Mark.Add(-p.stages[i].after))
}

// ResumesAt returns the mark at which the next attempt starts, after a backoff or
// as a hedge, clock.Never for none.
func (p *Plan) ResumesAt(c *Call) clock.Mark {
	switch c.Phase {
	case Sleeping:
		return c.Until
	case Racing:
		return c.Race.HedgeAt
	}
	return clock.Never
}

// WaitUntil moves the end of a wait. When a wait is over at the mark of its turn, the
// driver moves its end to a later mark, serves the queue, and moves it back if
// another waiter was served.
func (p *Plan) WaitUntil(c *Call, w Wait, at clock.Mark) {
	a := c.Try(w.Attempt)
	if a == nil {
		return
	}
	if a.Phase == Waiting && a.At == w.Step {
		a.Until = at
	} else if a.Phantom&(1<<w.Step) != 0 {
		a.Slots[w.Step].Generation = uint64(at)
	}
}

// Consults returns the mask of the steps whose breakers are consulted about a retry,
// and the retry's step if it has a budget, else -1. Those that do not apply to a call, or
// enforce nothing for it, are not consulted.
func (p *Plan) Consults() (breakers uint16, budget int) {
	if p.retry >= 0 && p.stages[p.retry].maker != nil {
		return p.breakers, p.retry
	}
	return p.breakers, -1
}

// Leases reports whether the permits of a step may be renewed.
func (p *Plan) Leases(i int) bool { return p.stages[i].leases }

// Refunds reports whether a call returns the permit of a step only where it did not
// run.
func (p *Plan) Refunds(i int) bool { return p.stages[i].leaves == reducer.Cancel }

// Places reports whether attempts take places at a step, which they return by a Release.
func (p *Plan) Places(i int) bool { return p.stages[i].leaves == reducer.Release }

// Records reports whether the cell of a step records the outcomes of attempts.
func (p *Plan) Records(i int) bool { return p.stages[i].leaves == reducer.Record }

// HedgeIndex returns the index of the hedge step, -1 for none.
func (p *Plan) HedgeIndex() int { return p.hedge }

// Keys returns the maximum number of keys of a step, and what a new key gets above
// it.
func (p *Plan) Keys(i int) keyed.Config { return p.stages[i].keys }
