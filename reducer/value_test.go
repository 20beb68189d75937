package reducer_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/reducer"
)

// Actions and answers are a few words each, so that a call over a boundary needs
// no boxing.
func TestSizes(t *testing.T) {
	script.Sized[reducer.Action](t, 40)
	script.Sized[reducer.Answer](t, 32)
	script.Sized[reducer.Permit](t, 24)
	script.Sized[reducer.Effect](t, 40)
}

func TestAnswers(t *testing.T) {
	refused := reducer.Rejected(reducer.ReasonRate, 5)
	if at, ok := refused.RetryAt(); at != 5 || !ok {
		t.Errorf("retry at %v, %v", at, ok)
	}
	for now, want := range map[clock.Mark]time.Duration{0: 5, 5: 0, 9: 0} {
		if after, ok := refused.RetryAfter(now); after != want || !ok {
			t.Errorf("at %v: retry after %v, %v", now, after, ok)
		}
	}
	for _, a := range []reducer.Answer{reducer.Rejected(reducer.ReasonCapacity, clock.Never), reducer.Admitted(reducer.Permit{Mark: 5}), {}} {
		if _, ok := a.RetryAt(); ok {
			t.Errorf("%v has a mark to retry at", a)
		}
		if _, ok := a.RetryAfter(0); ok {
			t.Errorf("%v has a time to retry after", a)
		}
	}
	waits := reducer.Waiting(7, 3, 8)
	if turn, ok := waits.Until(); turn != 3 || !ok || waits.WaitEnds() != 8 || waits.ID != 7 {
		t.Errorf("waits %v, %v until %v for ticket %d", turn, ok, waits.WaitEnds(), waits.ID)
	}
	if _, ok := reducer.Waiting(7, clock.Never, clock.Never).Until(); ok {
		t.Error("a turn that is not known is returned")
	}
	if _, ok := refused.Until(); ok {
		t.Error("a refusal has a turn")
	}
	admitted := reducer.Admitted(reducer.Permit{Generation: 1, ID: 2, Mark: 3})
	if admitted.Verdict != reducer.Admit || admitted.Permit != (reducer.Permit{Generation: 1, ID: 2, Mark: 3}) {
		t.Errorf("%v", admitted)
	}
}

func TestCauseOf(t *testing.T) {
	want := map[reducer.Outcome]reducer.Reason{
		reducer.Fail: reducer.ReasonFail, reducer.Throttle: reducer.ReasonThrottle, reducer.Timeout: reducer.ReasonTimeout,
	}
	for o := reducer.Outcome(0); o < 10; o++ {
		if got := reducer.CauseOf(o); got != want[o] {
			t.Errorf("%v: %v", o, got)
		}
	}
}

func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		reducer.ReasonRate.String():    "rate",
		reducer.ReasonTimeout.String(): "timeout",
		reducer.NoReason.String():      "",
		reducer.Reason(200).String():   "unknown",
		reducer.OK.String():            "ok",
		reducer.Cancelled.String():     "cancel",
		reducer.Outcome(200).String():  "unknown",
		reducer.Stale.String():         "stale",
		reducer.Wait.String():          "wait",
		reducer.Verdict(200).String():  "unknown",
		reducer.Acquire.String():       "acquire",
		reducer.Reset.String():         "reset",
		reducer.Kind(0).String():       "0",
		reducer.Kind(200).String():     "200",
		reducer.Change.String():        "change",
		reducer.EffectKind(9).String(): "9",
	} {
		if got != want {
			t.Errorf("named %q, want %q", got, want)
		}
	}
}

func TestShares(t *testing.T) {
	for share, want := range map[uint32]string{
		0: "0%", 1: "0.0001%", 500_000: "50%", 667_000: "66.7%", 123_456: "12.3456%", 10_010: "1.001%",
		reducer.Whole: "100%", 10 * reducer.Whole: "1000%", 1<<32 - 1: "a number that is neither 0% nor 0.0001% to 400000%",
	} {
		if got := reducer.Millionths(share).String(); got != want {
			t.Errorf("%d is %q, want %q", share, got, want)
		}
	}
	for _, c := range []struct {
		share       uint32
		part, whole uint32
		want        bool
	}{
		{500_000, 1, 2, true}, {500_000, 49, 99, false}, {500_000, 50, 100, true}, {500_001, 50, 100, false},
		{reducer.Whole, 1<<32 - 1, 1<<32 - 1, true}, {reducer.Whole, 1<<32 - 2, 1<<32 - 1, false}, {1, 0, 0, true},
	} {
		if got := reducer.Millionths(c.share).Reached(c.part, c.whole); got != c.want {
			t.Errorf("%d of %d reaches %v: %v", c.part, c.whole, c.share, got)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	for want, err := range map[string]error{
		"burst: found 7; allowed 1 to 5":        reducer.BadCount("burst", 7, "1 to 5"),
		"wait: found -1s; allowed 0 or more":    reducer.BadDuration("wait", -time.Second, "0 or more"),
		"rate: found 120%; allowed at most all": reducer.BadShare("rate", reducer.Percent(120), "at most all"),
	} {
		var config *reducer.ConfigError
		if err.Error() != want || !errors.As(err, &config) {
			t.Errorf("%q, want %q", err, want)
		}
	}
}

// Every binary and text form reads back as what was written.
func TestActionForms(t *testing.T) {
	for _, a := range []reducer.Action{
		{Kind: reducer.Acquire, Cost: 2, Priority: 7, Permit: reducer.Permit{ID: 9}},
		reducer.Action{Kind: reducer.Acquire, Cost: 1, Permit: reducer.Permit{ID: 3}}.WithDeadline(0).WithFlow(5),
		reducer.Action{Kind: reducer.Acquire}.WithDeadline(clock.Never),
		{Kind: reducer.Settle, Cost: 10, Permit: reducer.Permit{Generation: 1, ID: 2, Mark: 3}, Value: 4},
		{Kind: reducer.Observe, Outcome: reducer.OK, Value: 1 << 60},
		{Kind: reducer.Configure},
	} {
		src := a.AppendBytes(nil)
		if back, err := reducer.DecodeAction(src); back != a || err != nil {
			t.Errorf("%v reads back as %v, %v", a, back, err)
		}
		if back, err := reducer.ParseAction(a.String()); back != a || err != nil {
			t.Errorf("%q reads back as %v, %v", a, back, err)
		}
		for n := range src {
			if _, err := reducer.DecodeAction(src[:n]); !errors.Is(err, reducer.ErrEncoding) {
				t.Errorf("%d bytes of an action: %v", n, err)
			}
		}
	}
	a := reducer.Action{Kind: reducer.Acquire, Permit: reducer.Permit{Generation: 4, ID: 7}}
	if a.Deadline() != clock.Never || a.Caller() != 7 || a.Flow() != 4 {
		t.Errorf("deadline %v, caller %d, flow %d", a.Deadline(), a.Caller(), a.Flow())
	}
	if a = a.WithDeadline(8); a.Deadline() != 8 {
		t.Errorf("deadline %v", a.Deadline())
	}
}

func TestEffectsForms(t *testing.T) {
	for _, e := range []reducer.Effects{
		{},
		{Answer: reducer.Answer{Verdict: reducer.Admit, Changed: true, Free: 3, Permit: reducer.Permit{ID: 1}}},
		{Answer: reducer.Rejected(reducer.ReasonDeadline, 5), Others: reducer.Out{
			{Kind: reducer.Grant, Caller: 7, Permit: reducer.Permit{ID: 2, Mark: 9}}, {Kind: reducer.Drop, Reason: reducer.ReasonFull, Caller: 8},
		}},
	} {
		src := e.AppendBytes(nil)
		back, err := reducer.DecodeEffects(src)
		if err != nil || back.String() != e.String() || back.Answer != e.Answer {
			t.Errorf("%v reads back as %v, %v", e, back, err)
		}
		if parsed, err := reducer.ParseEffects(e.String()); err != nil || parsed.Answer != e.Answer {
			t.Errorf("%q reads back as %v, %v", e, parsed, err)
		}
		for n := range src {
			if _, err := reducer.DecodeEffects(src[:n]); !errors.Is(err, reducer.ErrEncoding) {
				t.Errorf("%d bytes of effects: %v", n, err)
			}
		}
	}
}

// The words of answers that are about no permit come out as they went in, and only from the
// answers that have them.
func TestWordsOfAnswers(t *testing.T) {
	var settled, took, delayed reducer.Answer
	settled.Verdict = reducer.Done
	settled.Drop(7)
	took.Verdict = reducer.Admit
	took.Take(9)
	delayed.After(time.Second)
	delay, known := delayed.Delay()
	if settled.Dropped() != 7 || settled.Took() != 0 || took.Took() != 9 || took.Dropped() != 0 || delay != time.Second || !known {
		t.Errorf("%+v drops %d and took %d, %+v took %d and drops %d, %+v is delayed by %v, %t",
			settled, settled.Dropped(), settled.Took(), took, took.Took(), took.Dropped(), delayed, delay, known)
	}
	if _, known := settled.Delay(); known {
		t.Error("an answer that admits nothing has a delay")
	}
	a := reducer.Action{Kind: reducer.Release}.Returning(5)
	if a.Returns() != 5 {
		t.Errorf("a release returns %d", a.Returns())
	}
	w := reducer.Waiting(3, 40, 90)
	if until, ok := w.Until(); !ok || until != 40 || w.WaitEnds() != 90 || w.ID != 3 {
		t.Errorf("%+v", w)
	}
}
