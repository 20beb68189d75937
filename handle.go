package sluice

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/runner"
	"github.com/sluice-go/sluice/reducer"
)

// Handle is a step of a pipeline, or a key of it, for an operator: it reads the state
// and changes it by hand. Pipeline.Step makes one. A Handle is a value and holds no
// state: it finds the step by its name at each use, so it stays valid after Configure
// and Reload. It is safe for concurrent use.
//
// Every change emits an EventManual with its action, and with who and why where By
// names them. An error is a HandleError and changes nothing.
//
// Changes are in this process alone. They are not part of a snapshot, except the state
// that a Reset, a Drain or a Transition leaves. A Trace records Configure alone of
// them.
type Handle struct {
	pipeline *Pipeline
	step     string
	values   []string
	hasKey   bool
	author   runner.Author
}

// MaxBlocks is how many keys of a step may be blocked at a time.
const MaxBlocks = runner.MaxBlocks

// The actions of an EventManual.
const (
	ActionTransition = api.ActionTransition
	ActionReset      = api.ActionReset
	ActionDrain      = api.ActionDrain
	ActionConfigure  = api.ActionConfigure
	ActionForget     = api.ActionForget
	ActionBlock      = api.ActionBlock
	ActionUnblock    = api.ActionUnblock
	ActionForgive    = api.ActionForgive
)

// HandleError says why a Handle could not read or change a step.
type HandleError = api.HandleError

// The causes of a HandleError, for errors.Is.
var (
	// ErrUnknownStep says that the policy has no step of the name.
	ErrUnknownStep = errors.New("the policy has no such step")
	// ErrUnsupported says that the mechanism of the step has no such action.
	ErrUnsupported = errors.New("the mechanism cannot do it")
	// ErrKeyNeeded says that the step has a cell for each key, and the handle no key.
	ErrKeyNeeded = errors.New("the step has a cell for each key; the action needs a key")
	// ErrKeyless says that the handle has a key, or the action needs one, and that the
	// step has one cell for all calls.
	ErrKeyless = errors.New("the step has one cell for all calls, and no keys")
	// ErrKeyValues says that the key has not one value for each attribute of per.
	ErrKeyValues = errors.New("a key has one value for each attribute of per")
	// ErrUnknownKey says that the key has no cell, or that it is not blocked.
	ErrUnknownKey = errors.New("the step does not know the key")
	// ErrSharedKey says that the key shares a cell with others, see when_full.
	ErrSharedKey = errors.New("the key shares its cell with other keys")
	// ErrInUse says that calls wait at the cell of the key, or hold a place there.
	ErrInUse = errors.New("calls wait at the key or hold a place")
	// ErrTooManyBlocks says that MaxBlocks keys of the step are blocked.
	ErrTooManyBlocks = fmt.Errorf("%d keys of the step are blocked", MaxBlocks)
	// ErrOutOfRange says that a duration or a mode is not allowed.
	ErrOutOfRange = errors.New("the value is not allowed")
)

// Step returns the handle of a step by its name, as in "breaker" or "limit-2". A name
// that the policy does not have is an error of the methods of the handle.
func (p *Pipeline) Step(name string) Handle { return Handle{pipeline: p, step: name} }

// Key returns the handle of a key of the step: one value for each attribute of per, in
// that order. The empty value is the one of calls that lack the attribute.
func (h Handle) Key(values ...string) Handle {
	h.values, h.hasKey = slices.Clone(values), true
	return h
}

// By returns the handle with who changes the step and why, for events and logs. Both
// may be empty.
func (h Handle) By(who, why string) Handle {
	h.author = runner.Author{By: who, Why: why}
	return h
}

// target finds the step, and the key as the step has it.
func (h Handle) target(action string) (t runner.Target, key string, err error) {
	fail := func(err error) (runner.Target, string, error) { return t, "", h.failed(action, err) }
	if err := h.pipeline.Err(); err != nil {
		return fail(err)
	}
	t, ok := h.pipeline.engine.Target(h.step)
	if !ok {
		return fail(fmt.Errorf("%w; it has %s", ErrUnknownStep, strings.Join(h.pipeline.stepNames(), ", ")))
	}
	if !h.hasKey {
		return t, "", nil
	}
	switch per := t.Step.Per; {
	case len(per) == 0:
		return fail(ErrKeyless)
	case len(per) != len(h.values):
		return fail(fmt.Errorf("%w, %s; found %d", ErrKeyValues, strings.Join(per, ", "), len(h.values)))
	}
	return t, t.Key(h.values), nil
}

func (p *Pipeline) stepNames() (names []string) {
	plan := p.Plan()
	for i := range plan.Len() {
		names = append(names, plan.StepName(i))
	}
	return names
}

func (h Handle) failed(action string, err error) error {
	return &HandleError{Policy: h.pipeline.Name(), Step: h.step, Action: action, Err: err}
}

func (h Handle) unsupported(action string, t runner.Target) error {
	return h.failed(action, fmt.Errorf("%w: the mechanism is %s", ErrUnsupported, t.Step.Kind()))
}

// one is target for an action of one mechanism on one cell.
func (h Handle) one(action string, only pipeline.Kind) (t runner.Target, key string, err error) {
	t, key, err = h.target(action)
	switch {
	case err != nil:
		return t, "", err
	case t.Step.Kind() != only:
		return t, "", h.unsupported(action, t)
	case len(t.Step.Per) > 0 && !h.hasKey:
		return t, "", h.failed(action, ErrKeyNeeded)
	}
	return t, key, nil
}

// keyOf is target for an action on a key of any mechanism with keys.
func (h Handle) keyOf(action string) (t runner.Target, key string, err error) {
	t, key, err = h.target(action)
	switch {
	case err != nil:
		return t, "", err
	case len(t.Step.Per) == 0:
		return t, "", h.failed(action, ErrKeyless)
	case !h.hasKey:
		return t, "", h.failed(action, ErrKeyNeeded)
	}
	return t, key, nil
}

// done returns the error of what an operation did.
func (h Handle) done(action string, t runner.Target, did runner.Operated) error {
	switch did {
	case runner.OperatedStale:
		return h.unsupported(action, t)
	case runner.OperatedShared:
		return h.failed(action, ErrSharedKey)
	}
	return nil
}

// HandleState is the state of a step, or of a key of it, at one moment.
type HandleState = api.HandleState

// State returns the state of the step, or of the key. It takes no permit, creates no cell, and
// does not count as a use of the key. The error wraps ErrKeyNeeded for a step with keys and a
// handle without one.
func (h Handle) State() (HandleState, error) {
	const action = "state"
	t, key, err := h.target(action)
	if err != nil {
		return HandleState{}, err
	}
	if t.HasState() && len(t.Step.Per) > 0 && !h.hasKey {
		return t.Described(key), h.failed(action, ErrKeyNeeded)
	}
	return t.State(key), nil
}

// Transition moves a breaker by hand, as Breaker.Transition does: breaker.Open lasts for
// the open time of the configuration, ForcedOpen and ForcedClosed until the next
// Transition or Reset. A step with keys needs Key; a key without a cell gets one.
func (h Handle) Transition(to breaker.Mode) error {
	return h.transition(to, clock.Always)
}

// OpenFor opens a breaker for a time, more than 0, after which it is half-open.
func (h Handle) OpenFor(d time.Duration) error {
	if d <= 0 {
		return h.failed(ActionTransition, fmt.Errorf("%w: found %s; allowed: more than 0", ErrOutOfRange, d))
	}
	if err := h.pipeline.Err(); err != nil {
		return h.failed(ActionTransition, err)
	}
	return h.transition(breaker.Open, h.pipeline.engine.Now().Add(d))
}

func (h Handle) transition(to breaker.Mode, until clock.Mark) error {
	if to > breaker.MetricsOnly {
		return h.failed(ActionTransition, fmt.Errorf("%w: there is no mode %d", ErrOutOfRange, to))
	}
	t, key, err := h.one(ActionTransition, breaker.Config{}.Kind())
	if err != nil {
		return err
	}
	a := reducer.Action{Kind: reducer.Transition, Cost: uint32(to), Permit: reducer.Permit{Mark: until}}
	return h.done(ActionTransition, t, t.Operate(key, a, ActionTransition, h.author))
}

// Reset returns the step, or the key, to its initial state: a limit has all its permits,
// without blocks, a breaker is closed, a budget is full. On a step with keys and without Key it resets
// all keys and ends all blocks. Permits from before are void: a call that runs in a
// bulkhead no longer counts there. Calls that wait are refused, with
// ReasonCapacity at a limit and ReasonFull at a bulkhead.
func (h Handle) Reset() error {
	t, key, err := h.target(ActionReset)
	if err != nil {
		return err
	}
	if !t.HasState() {
		return h.unsupported(ActionReset, t)
	}
	all := len(t.Step.Per) > 0 && !h.hasKey
	if all {
		t.UnblockAll()
	}
	return h.done(ActionReset, t, t.Revert(key, all, ActionReset, h.author))
}

// Drain gives up the free permits of a limit: the dependency asked for a pause. They
// come back as the rate says. A step with keys needs Key; a key without a cell gets
// one.
func (h Handle) Drain() error {
	t, key, err := h.one(ActionDrain, limiter.Config{}.Kind())
	if err != nil {
		return err
	}
	return h.done(ActionDrain, t, t.Operate(key, reducer.Action{Kind: reducer.Drain}, ActionDrain, h.author))
}

// Configure replaces the configuration of the step by another one of the same
// mechanism, with the defaults of the policy document. The state stays as
// Pipeline.Configure says. Pipeline.Document keeps what the document has, and the next
// Configure of the pipeline or Reload of its set puts the document's settings back.
func (h Handle) Configure(c mechanism.Config) error {
	t, _, err := h.target(ActionConfigure)
	switch {
	case err != nil:
		return err
	case h.hasKey:
		return h.failed(ActionConfigure, fmt.Errorf("%w for a key: all keys have one configuration", ErrUnsupported))
	case c == nil || c.Kind() != t.Step.Kind():
		return h.unsupported(ActionConfigure, t)
	}
	events, err := h.pipeline.engine.Edit(func(plan *pipeline.Plan) (*pipeline.Plan, error) {
		next := plan.Policy()
		for i, s := range next.Steps {
			if s.Name == h.step && s.Kind() == c.Kind() {
				next.Steps[i].Config = c
				return pipeline.Compile(next.WithEpoch(h.pipeline.engine.Epoch))
			}
		}
		return nil, ErrUnknownStep
	})
	if err != nil {
		return h.failed(ActionConfigure, err)
	}
	events.EmitAll()
	t.Configured(h.pipeline.engine, ActionConfigure, h.author)
	return nil
}

// Forget evicts the key: the step no longer knows it, and its next call finds a new
// cell. A block of the key stays. The error wraps ErrInUse while calls wait there or
// hold a place, and ErrUnknownKey for a key without a cell of its own.
func (h Handle) Forget() error {
	t, key, err := h.keyOf(ActionForget)
	if err != nil {
		return err
	}
	switch ok, held := t.Forget(key, ActionForget, h.author); {
	case held:
		return h.failed(ActionForget, ErrInUse)
	case !ok:
		return h.failed(ActionForget, ErrUnknownKey)
	}
	return nil
}

// Block has the step refuse the calls of the key for a time, more than 0, with
// ReasonBlocked and the time that is left as RetryAfter. Another Block of the key
// replaces the time. A call that waits or runs already goes on. A step in shadow
// reports the refusals and enforces none. A limit, breaker, bulkhead or adaptive limit with
// keys can do it; a step with one cell for all calls cannot.
func (h Handle) Block(d time.Duration) error {
	t, key, err := h.keyOf(ActionBlock)
	switch {
	case err != nil:
		return err
	case !asks(t.Step.Kind()):
		return h.unsupported(ActionBlock, t)
	case d <= 0:
		return h.failed(ActionBlock, fmt.Errorf("%w: found %s; allowed: more than 0", ErrOutOfRange, d))
	case !t.Block(key, d, ActionBlock, h.author):
		return h.failed(ActionBlock, ErrTooManyBlocks)
	}
	return nil
}

// asks reports whether calls ask the cells of a mechanism for a permit. A retry and a
// hedge with keys have budgets there, which refuse no call.
func asks(k pipeline.Kind) bool { return mechanisms.Row(k).Traits&mechanism.Asks != 0 }

// Unblock ends a Block, and the block of a key that exceeded its limit: the next one is as
// long as it would have been. The error wraps ErrUnknownKey where the key is not blocked.
func (h Handle) Unblock() error {
	t, key, err := h.keyOf(ActionUnblock)
	if err != nil {
		return err
	}
	if !t.Unblock(key, ActionUnblock, h.author) {
		return h.failed(ActionUnblock, ErrUnknownKey)
	}
	return nil
}

// Forgive ends the block of the key and resets its state, as Reset does: a limit has all
// its permits again. It is no error for a key that the step does not know.
func (h Handle) Forgive() error {
	t, key, err := h.keyOf(ActionForgive)
	if err != nil {
		return err
	}
	t.Unblock(key, "", h.author)
	return h.done(ActionForgive, t, t.Revert(key, false, ActionForgive, h.author))
}

// BlockedKey is a key that Block blocks, or that exceeded a limit with a block.
type BlockedKey struct {
	// Key as events have it, and its values in the order of per.
	Key    string
	Values []string
	Left   time.Duration
}

// Blocked returns the keys of the step that are blocked, in the order of the keys.
func (h Handle) Blocked() ([]BlockedKey, error) {
	t, _, err := h.target("state")
	if err != nil || !t.HasState() {
		return nil, err
	}
	var list []BlockedKey
	for key, left := range t.Blocked() {
		list = append(list, BlockedKey{Key: key, Values: keyed.Split(len(t.Step.Per), key), Left: left})
	}
	slices.SortFunc(list, func(a, b BlockedKey) int { return strings.Compare(a.Key, b.Key) })
	return list, nil
}
