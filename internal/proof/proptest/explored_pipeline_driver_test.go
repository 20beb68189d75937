package proptest

import (
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/reducer"
)

// The pipeline of the exploration on the driver that is shipped.

// drivenCalls is the shipped driver with the two calls.
type drivenCalls struct {
	driver *drive.Driver
	calls  [2]decision.Handle
}

// play performs a deed, and returns the decisions.
func (d *drivenCalls) play(deed flowDeed, at clock.Mark) (told []said) {
	was := d.calls
	d.driver.Decisions = d.driver.Decisions[:0]
	d.driver.Advance(at)
	switch handle := d.calls[deed.call]; deed.verb {
	case begins:
		d.calls[deed.call] = d.driver.Begin(&drive.Request{Cost: 1, Deadline: -1})
	case finishes:
		d.driver.Done(handle, drive.Result{Outcome: deed.outcome})
	case givesUp:
		d.driver.Cancel(handle)
	}
	for _, x := range d.driver.Decisions {
		call := slices.Index(d.calls[:], x.Call)
		if call < 0 {
			call = slices.Index(was[:], x.Call)
		}
		told = append(told, said{x.At, call, x.Kind, x.Step, x.Outcome, x.Reason, x.RetryAfter, x.Last})
	}
	return told
}

// drivenAlike plays the path on the shipped driver, and compares what it decides at
// the last step. Several paths reach one state, and the state of the driver is not
// visible: so both then play the same further events, whose decisions show a
// difference.
func drivenAlike(m *twoCalls, t *flowPassage) error {
	var all []*flowPath
	for p := t.After.path; p != nil; p = p.before {
		all = append(all, p)
	}
	d := &drivenCalls{driver: drive.New(flowPlan, 0)}
	var told []said
	for i := len(all) - 1; i >= 0; i-- {
		told = d.play(all[i].deed, all[i].at)
	}
	if !slices.Equal(told, t.Effects.said) {
		return fmt.Errorf("%s, the driver %s", appendFlowEffects(nil, t.Action, t.Effects), appendFlowEffects(nil, t.Action, flowEffects{said: told}))
	}
	s := t.After
	for i, deed := range [...]flowDeed{{verb: begins}, {verb: begins, call: 1}, {finishes, 0, reducer.OK}, {verb: begins}} {
		at := t.Now + 2*clock.Mark(i/3)
		if deed.verb == begins && s.live[deed.call] {
			deed.verb = passes
		}
		next, effects := m.Reduce(s, deed, at)
		if told := d.play(deed, at); !slices.Equal(told, effects.said) {
			return fmt.Errorf("then at %s %s: %s, the driver %s", at, appendFlowDeed(nil, deed), appendFlowEffects(nil, deed, effects), appendFlowEffects(nil, deed, flowEffects{said: told}))
		}
		s = next
	}
	return nil
}
