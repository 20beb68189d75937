package pipeline

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/chaos"
	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/reducer"
)

func compiled(t *testing.T, steps ...mechanism.Config) *Plan {
	t.Helper()
	p := Policy{}
	for _, c := range steps {
		p.Steps = append(p.Steps, Step{Config: c})
	}
	plan, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

var (
	aLimit   = limiter.Config{Count: 1, Period: time.Second}
	aRetry   = retry.Config{Attempts: 2}
	aHedge   = hedge.Config{After: time.Second, Max: hedge.MaxHedges}
	aTimeout = timeout.Config{After: time.Second}
	places   = bulkhead.Config{Concurrent: 1}
)

// raced returns a plan with every part for which a call has a state, and a call
// through it in the middle of its longest round, in which no two fields are alike.
func raced(t *testing.T) (*Plan, *Call) {
	t.Helper()
	settled := aLimit
	settled.Charge = limiter.ChargeSettle
	p := Policy{Steps: []Step{
		{Config: settled}, {Config: aTimeout}, {Config: aRetry}, {Config: aHedge},
		{Config: breaker.Config{Count: 2, ObeyRetryAfter: time.Minute}, When: condition.Condition{{All: []condition.Entry{{Attribute: "key", Values: []string{"a"}}}}}},
		{Config: places, Enforce: condition.Share{Of: reducer.Percent(50)}},
	}}
	plan, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	word := uint64(0)
	next := func() uint64 { word++; return word }
	slots := func(a *Attempt) {
		for i := range a.Entered {
			a.Slots[i] = reducer.Permit{Generation: next() << 33, ID: next() << 34, Mark: clock.Mark(next() << 35)}
		}
	}
	c := &Call{
		Attempt: Attempt{
			Started: clock.Mark(next()), Until: clock.Mark(-next()), After: time.Duration(next()), Number: 1<<31 | uint32(next()), Held: 1 << 0, Fired: 1<<1 | 1<<15,
			Phase: Racing, At: uint8(next()), Entered: 4, Outcome: reducer.Throttle,
		},
		Deadline: clock.Mark(next()), First: clock.Mark(-next()), Round: clock.Mark(next()), Seed: math.MaxUint64 - next(),
		Retry: retry.State{Attempt: 1<<30 | uint32(next()), Before: -time.Duration(next())},
		Cost:  uint32(next()), Admitted: 1<<29 | uint32(next()), Cut: uint32(next()),
		Used: &[MaxSteps]uint64{next() << 40}, Spent: 1 << 0, Skips: 1 << 4, Shadows: 1 << 5, Allowed: true,
		Single: true, NoRetry: true, NoHedge: true, Barred: true, Late: true,
		Race: &Race{
			HedgeAt: clock.Mark(next()), Numbered: uint32(next()), Left: uint32(next()), Won: uint32(next()), last: uint32(next()),
			retryAfter: time.Duration(next()), told: true, pushback: true,
			closing: closing{
				votes: reducer.Timeout, tells: true, retry: true,
				effect: Effect{Do: Refuse, Step: uint8(next()), At: clock.Mark(next())}.because(reducer.Fail, reducer.ReasonFull),
			},
		},
	}
	slots(&c.Attempt)
	for i := range uint8(hedge.MaxHedges + 1) {
		a := Attempt{
			Started: clock.Mark(next()), Until: clock.Mark(next()), After: time.Duration(next()), Number: uint32(next()), Held: 1 << 4, Phantom: 1 << 5, Fired: uint16(next()),
			Phase: [...]Phase{Entering, Waiting, Running, Over}[i%4], At: 4 + i%2, Entered: 6, Outcome: reducer.Outcome(i % 6),
		}
		slots(&a)
		c.Race.Attempts = append(c.Race.Attempts, a)
	}
	return plan, c
}

// A decoded call has all its fields, and each of them is in the bytes.
func TestCallKeepsEveryField(t *testing.T) {
	plan, c := raced(t)
	src := plan.AppendCall([]byte("before"), c)[len("before"):]
	got, err := plan.DecodeCall(src)
	if err != nil || !reflect.DeepEqual(got, c) {
		t.Fatalf("%v: restored\n%+v\n%+v\nis\n%+v\n%+v", err, got, got.Race, c, c.Race)
	}
	bits := 0
	each(reflect.ValueOf(c).Elem(), func(path string, flip func()) {
		flip()
		if changed := plan.AppendCall(nil, c); bytes.Equal(changed, src) {
			t.Errorf("%s is not in the bytes", path)
		}
		flip()
		bits++
	})
	if bits < 250 {
		t.Errorf("a call has only %d fields", bits)
	}
	if again := plan.AppendCall(nil, c); !bytes.Equal(again, src) {
		t.Error("a field is not as it was")
	}
	for n := range src {
		if _, err := plan.DecodeCall(src[:n]); !errors.Is(err, reducer.ErrEncoding) {
			t.Fatalf("%d of %d bytes: %v", n, len(src), err)
		}
	}
	if _, err := compiled(t, aLimit, aTimeout).DecodeCall(src); !errors.Is(err, reducer.ErrConfiguration) {
		t.Errorf("under another plan: %v", err)
	}
}

// A restored call has the costs of its steps, and a plan in which another step has a cost
// does not read it.
func TestCallKeepsItsCosts(t *testing.T) {
	own := limiter.Config{Count: 9, Period: time.Second, Cost: limiter.Cost{Attribute: "header:n", Permits: 2}}
	fixed := limiter.Config{Count: 9, Period: time.Second, Cost: limiter.Cost{Permits: 3}}
	plan := compiled(t, aLimit, own, fixed, own)
	c := &Call{}
	plan.Begin(c, 5, clock.Never, 0)
	costs := plan.CostsBy(func(string) string { return "7" })
	costs.Known &^= 1 << 3
	plan.Price(c, &costs)
	got, err := plan.DecodeCall(plan.AppendCall(nil, c))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint32{5, 7, 3, 2} {
		if n := plan.CostOf(got, i); n != want {
			t.Errorf("step %d costs %d, want %d", i, n, want)
		}
	}
	if _, err := compiled(t, aLimit, aLimit, fixed, own).DecodeCall(plan.AppendCall(nil, c)); !errors.Is(err, reducer.ErrConfiguration) {
		t.Errorf("under another plan: %v", err)
	}
}

// What is no whole number of at most 18 digits is a missing cost.
func TestCostsOfAttributes(t *testing.T) {
	plan := compiled(t, limiter.Config{Count: 9, Period: time.Second, Cost: limiter.Cost{Attribute: "header:n", Permits: 4}})
	for value, want := range map[string]uint32{
		"": 4, "0": 0, "12": 12, "007": 7, "-1": 4, "+1": 4, "1.0": 4, " 1": 4, "1e3": 4, "٣": 4,
		"4294967295": 1<<32 - 1, "4294967296": 1<<32 - 1, "999999999999999999": 1<<32 - 1, "1000000000000000000": 4,
	} {
		c := &Call{}
		plan.Begin(c, 1, clock.Never, 0)
		costs := plan.CostsBy(func(string) string { return value })
		plan.Price(c, &costs)
		if n := plan.CostOf(c, 0); n != want {
			t.Errorf("%q costs %d, want %d", value, n, want)
		}
	}
}

// A restored call is held up to the mark up to which it was, and gets the same injection.
func TestCallKeepsItsInjection(t *testing.T) {
	plan := compiled(t, aRetry, chaos.Config{Throttle: reducer.Percent(100), RetryAfter: 3, Slow: reducer.Percent(100), By: 5, To: 1 << 40})
	c := &Call{}
	plan.Begin(c, 1, clock.Never, 7)
	for i := range plan.Len() {
		plan.Skip(&c.Attempt, i, 9)
	}
	plan.Start(c, 0, 9)
	if _, runs := plan.Find(c, 0); !runs || !plan.hold(c, 0, 9) {
		t.Fatal("the attempt is not held")
	}
	got, err := plan.DecodeCall(plan.AppendCall(nil, c))
	if err != nil {
		t.Fatal(err)
	}
	if _, runs := plan.Find(got, 0); runs || !plan.Held(got, 0) {
		t.Error("the restored attempt has called the dependency")
	}
	want := plan.injection(c, 0)
	if x := plan.injection(got, 0); x != want || plan.InjectsAt(got) != clock.Mark(9+want.Delay) || want.Outcome != reducer.Throttle {
		t.Errorf("restored %+v at %v, was %+v", x, plan.InjectsAt(got), want)
	}
}

// each calls with every field that the bytes of a call have, and what changes its
// lowest bit.
func each(v reflect.Value, call func(path string, flip func())) {
	var walk func(path string, v reflect.Value)
	walk = func(path string, v reflect.Value) {
		// Fields without a capital are set as well.
		v = reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem()
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				walk(path+"."+v.Type().Field(i).Name, v.Field(i))
			}
		case reflect.Pointer:
			if !v.IsNil() {
				walk(path, v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(path+"[]", v.Index(i))
			}
		case reflect.Array:
			// Of the slots, the slots of the steps that the attempt has passed; of what was
			// used, that at the step that settles.
			n := 4
			if path == ".Used" {
				n = 1
			}
			for i := range n {
				walk(path+"[]", v.Index(i))
			}
		case reflect.Bool:
			if path == ".Race.closing.effect.Subject.Cause.ended" {
				return // of an attempt, which the effect that is still to come names none of
			}
			call(path, func() { v.SetBool(!v.Bool()) })
		case reflect.Int64:
			call(path, func() { v.SetInt(v.Int() ^ 1) })
		default:
			switch strings.TrimPrefix(path, ".Race.closing.effect.Subject.") {
			case "Attempt", "Leave.LeaveFrom", "Leave.LeaveTo", "cut":
				return // of an effect that is still to come, which names no attempt
			}
			call(path, func() { v.SetUint(v.Uint() ^ 1) })
		}
	}
	walk("", v)
}

// A call that no driver can continue is refused, and the nearest one that it can
// continue is not.
func TestUnsoundCallsAreRefused(t *testing.T) {
	hedged, _ := raced(t)
	flat := compiled(t, aLimit, aTimeout)
	retried := compiled(t, aLimit, aRetry, places)
	outermost := compiled(t, aHedge, places)
	again := compiled(t, aRetry)
	calls := map[*Plan]func() *Call{
		hedged: func() *Call { _, c := raced(t); return c },
		flat:   func() *Call { return &Call{Attempt: Attempt{Phase: Running, Entered: 2, Held: 1}} },
		retried: func() *Call {
			return &Call{Attempt: Attempt{Phase: Running, Entered: 3, Held: 1 << 2, Phantom: 1 << 0}}
		},
		outermost: func() *Call {
			return &Call{Attempt: Attempt{Phase: Racing, Entered: 1}, Race: &Race{Attempts: []Attempt{{Phase: Running, Entered: 2, Held: 1 << 1}}}}
		},
		again: func() *Call { return &Call{Attempt: Attempt{Phase: Deciding, Entered: 1}} },
	}
	for _, c := range []struct {
		name   string
		plan   *Plan
		change func(c *Call)
		sound  bool
	}{
		{"as it is", hedged, func(*Call) {}, true},
		{"settles", hedged, func(c *Call) { c.Phase = Settling }, true},
		{"sleeps", hedged, func(c *Call) { c.Phase = Sleeping }, true},
		{"races without attempts", hedged, func(c *Call) { c.Race.Attempts = nil }, false},
		{"settles without attempts", hedged, func(c *Call) { c.Phase, c.Race.Attempts = Settling, nil }, false},
		{"enters without attempts", hedged, func(c *Call) { c.Phase, c.Race.Attempts = Entering, c.Race.Attempts[:0] }, true},
		{"has more attempts than a hedge may have", hedged, func(c *Call) { c.Race.Attempts = append(c.Race.Attempts, Attempt{}) }, false},
		{"has passed the hedge", hedged, func(c *Call) { c.Entered, c.Held = 5, 0 }, false},
		{"has an attempt past the last step", hedged, func(c *Call) { c.Race.Attempts[10].Entered = 7 }, false},
		{"has an attempt at a phase of calls, racing", hedged, func(c *Call) { c.Race.Attempts[2].Phase = Racing }, false},
		{"has an attempt at a phase of calls, deciding", hedged, func(c *Call) { c.Race.Attempts[2].Phase = Deciding }, false},
		{"has an attempt at a phase of calls, sleeping", hedged, func(c *Call) { c.Race.Attempts[2].Phase = Sleeping }, false},
		{"has an attempt at a phase of calls, settling", hedged, func(c *Call) { c.Race.Attempts[2].Phase = Settling }, false},
		{"has a first attempt at a phase of calls", hedged, func(c *Call) { c.Race.Attempts[0].Phase = Racing }, false},
		{"has an attempt at no phase", hedged, func(c *Call) { c.Race.Attempts[2].Phase = Over + 1 }, false},
		{"has an attempt that is over", hedged, func(c *Call) { c.Race.Attempts[2].Phase = Over }, true},
		{"has an attempt of no outcome", hedged, func(c *Call) { c.Race.Attempts[2].Outcome = reducer.Cancelled + 1 }, false},
		{"has a cancelled attempt", hedged, func(c *Call) { c.Race.Attempts[2].Outcome = reducer.Cancelled }, true},
		{"waits where it holds a permit", hedged, func(c *Call) { c.Race.Attempts[3].Phantom = 1 << 4 }, false},
		{"races without a hedge", flat, func(c *Call) { c.Phase = Racing }, false},
		{"settles without a hedge", flat, func(c *Call) { c.Phase = Settling }, false},
		{"runs", flat, func(*Call) {}, true},
		{"has passed a step too many", flat, func(c *Call) { c.Entered = 3 }, false},
		{"decides without a retry", flat, func(c *Call) { c.Phase = Deciding }, false},
		{"sleeps without a retry", flat, func(c *Call) { c.Phase = Sleeping }, false},
		{"is at no phase", flat, func(c *Call) { c.Phase = Over + 1 }, false},
		{"is over", flat, func(c *Call) { c.Phase = Over }, true},
		{"holds a permit of a step that gives none", flat, func(c *Call) { c.Held = 1 << 1 }, false},
		{"waits in shadow at a step that gives no permits", flat, func(c *Call) { c.Phantom = 1 << 1 }, false},
		{"holds a permit of a step that it has not passed", flat, func(c *Call) { c.Entered = 0 }, false},
		{"waits", flat, func(c *Call) { c.Phase, c.At, c.Held = Waiting, 0, 0 }, true},
		{"waits at a step that it has not come to", flat, func(c *Call) { c.Phase, c.Entered, c.Held = Waiting, 0, 0 }, false},
		{"waits at a timeout", flat, func(c *Call) { c.Phase, c.At = Waiting, 1 }, false},
		{"decides", retried, func(c *Call) { c.Phase = Deciding }, true},
		{"sleeps after a retry", retried, func(c *Call) { c.Phase = Sleeping }, true},
		{"waits in shadow at a step that it has not passed", retried, func(c *Call) { c.Entered, c.Held, c.Phantom = 2, 0, 1<<2 }, false},
		{"races at the outermost step", outermost, func(*Call) {}, true},
		{"has passed the hedge at the outermost step", outermost, func(c *Call) { c.Entered = 2 }, false},
		{"decides at the outermost step", again, func(*Call) {}, true},
	} {
		call := calls[c.plan]()
		c.change(call)
		got, err := c.plan.DecodeCall(c.plan.AppendCall(nil, call))
		switch {
		case c.sound && (err != nil || !reflect.DeepEqual(got, call)):
			t.Errorf("a call that %s: %v, restored %+v", c.name, err, got)
		case !c.sound && (!errors.Is(err, reducer.ErrEncoding) || got != nil):
			t.Errorf("a call that %s is restored: %v", c.name, err)
		}
	}
}

// A call takes 24 bytes for each step that it has passed, and bytes that name more
// steps than a policy may have are refused.
func TestStepsNotPassedTakeNoBytes(t *testing.T) {
	plan := compiled(t, aTimeout, aTimeout)
	var sizes [3]int
	for n := range sizes {
		sizes[n] = len(plan.AppendCall(nil, &Call{Attempt: Attempt{Entered: uint8(n)}}))
	}
	if sizes[1] != sizes[0]+24 || sizes[2] != sizes[0]+48 {
		t.Errorf("sizes %v", sizes)
	}
	src := plan.AppendCall(nil, &Call{})
	src[len(src)-2] = 200
	if _, err := plan.DecodeCall(append(src, make([]byte, 200*24)...)); !errors.Is(err, reducer.ErrEncoding) {
		t.Errorf("200 steps: %v", err)
	}
}
