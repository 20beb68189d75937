package lint_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/lint"
	"github.com/sluice-go/sluice/policy"
)

// decided returns what eval prints for events of a document of one policy, whose settings
// are given as the rest of it.
func decided(t *testing.T, rest string, events ...string) string {
	t.Helper()
	doc, err := policy.Parse("said.yaml", []byte("version: 1\npolicies:\n  p: {"+rest+"}\n"))
	if err != nil {
		t.Fatalf("%s: %v", rest, err)
	}
	var out bytes.Buffer
	if err := eval.Run(doc.Policies[0].Policy, eval.Options{}, strings.NewReader(strings.Join(events, "\n")), &out); err != nil {
		t.Fatalf("%s: %v", rest, err)
	}
	return out.String()
}

// call and done are events of eval.
func call(at time.Duration, id int, key string) string {
	return fmt.Sprintf(`{"at":%q,"op":"call","id":%d,"key":%q}`, at, id, key)
}

func done(at time.Duration, id int, outcome string) string {
	return fmt.Sprintf(`{"at":%q,"op":"done","id":%d,"outcome":%q}`, at, id, outcome)
}

// TestSaid holds what findings say to what eval decides.
func TestSaid(t *testing.T) {
	const ms = time.Millisecond
	// Of a limit of one an hour.
	hourly := func(settings string) string { return "steps: [{limit: {rate: 1/h, burst: 1, " + settings + "}}]" }
	two := []string{call(0, 1, "a"), call(0, 2, "b")}
	for _, test := range []struct {
		rule   lint.Rule
		rest   string
		events []string
		has    string
		times  int
	}{
		{lint.AlwaysHolds, hourly("when: [{key: a}, {not: {key: a}}]"), two, `"reason":"rate"`, 1},
		{lint.AlwaysHolds, "steps: [{timeout: 1s}], deny: [{key: a}, {not: {key: a}}]", two, `"reason":"denied"`, 2},
		{lint.AlwaysHolds, "steps: [{timeout: 1s}], allow: [{key: a}, {not: {key: a}}]", two, `"reason":"allowed"`, 2},
		{lint.NeverHolds, hourly("when: {key: a, not: {key: a}}"), append(two, call(0, 3, "a")), `"decision":"admit"`, 3},
		{lint.NeverHolds, hourly("when: {key: a}") + ", deny: {key: a}", append(two, call(0, 3, "a")), `"step":"limit"`, 0},
		{lint.DeniedAllow, "steps: [{timeout: 1s}], deny: {key: [a, c]}, allow: {key: a}", two, `"reason":"allowed"`, 0},
		{lint.ForcedBreaker, "steps: [{breaker: {initial: forced-open}}]", []string{call(0, 1, ""), call(1e6*time.Hour, 2, "")}, `"reason":"open"`, 2},
		{lint.LongObey, "steps: [{breaker: {obey_retry_after: 24h}}]", []string{
			call(0, 1, ""), `{"at":"0s","op":"done","id":1,"outcome":"throttle","retry_after":"24h"}`, call(24*time.Hour-1, 2, ""),
		}, `"reason":"open"`, 1},
		// With tokens for two retries, call 1 makes both; call 2 makes none.
		{lint.BudgetOneCall, "steps: [{retry: {attempts: 4, backoff: none, budget: {tokens: 10}}}]", []string{
			call(0, 1, ""), done(0, 1, "fail"), done(0, 1, "fail"), done(0, 1, "fail"), call(0, 2, ""), done(0, 2, "fail"),
		}, `"attempt":3,"reason":"budget"`, 1},
		{lint.BudgetOneCall, "steps: [{retry: {attempts: 4, backoff: none, budget: {tokens: 10}}}]", []string{
			call(0, 1, ""), done(0, 1, "fail"), done(0, 1, "fail"), done(0, 1, "fail"), call(0, 2, ""), done(0, 2, "fail"),
		}, `"attempt":1,"reason":"budget"`, 1},
		// The second attempt waits as long as it may, and a retry is granted.
		{lint.BudgetWait, "steps: [{retry: {attempts: 3, backoff: none, budget: {adaptive: 10s, wait: 1s}}}, {limit: {rate: 1/s, burst: 1, wait: 1s}}]", []string{
			call(0, 1, ""), done(0, 1, "fail"), done(1500*ms, 1, "ignore"), call(1500*ms, 2, ""),
		}, `"decision":"retry"`, 1},
		{lint.SharedBlock, "steps: [{limit: {rate: 1/s, burst: 1, block: 1h}}]", []string{call(0, 1, "a"), call(0, 2, "a"), call(time.Minute, 3, "b")}, `"reason":"blocked"`, 1},
		// Without consecutive three slow ones in a row open it after ten good calls, and four
		// after none.
		{lint.LateSlowRow, "steps: [{breaker: {window: {calls: 10}, minimum: 4, slow: {over: 1s, rate: 30%}}}]", slowRow(10, 3), `"reason":"open"`, 1},
		{lint.LateSlowRow, "steps: [{breaker: {window: {calls: 10}, minimum: 4, slow: {over: 1s, rate: 30%}}}]", slowRow(0, 4), `"reason":"open"`, 1},
		{lint.LateSlowRow, "steps: [{breaker: {window: {calls: 10}, minimum: 4, slow: {over: 1s, rate: 30%}}}]", slowRow(0, 3), `"reason":"open"`, 0},
		// Half-open from 10s on; the probe closes it, and a second later no call has ended.
		{lint.BriefRamp, "steps: [{breaker: {window: {consecutive: 1}, open: 10s, probes: 1, ramp: {over: 1s}}}, {timeout: 5s}]", []string{
			call(0, 1, ""), done(0, 1, "fail"), call(10*time.Second, 2, ""), done(10*time.Second, 2, "ok"),
			call(11*time.Second, 3, ""), call(11*time.Second, 4, ""), call(11*time.Second, 5, ""),
		}, `"at":"11s","id":`, 3},
		// Each call hangs for the 5 s of its timeout, and the next one follows it.
		{lint.BriefForget, "steps: [{breaker: {window: {consecutive: 2, forget: 5s}}}, {timeout: 5s}]", []string{
			call(0, 1, ""), call(5*time.Second, 2, ""), call(10*time.Second, 3, ""), call(15*time.Second, 4, ""),
		}, `"decision":"admit"`, 4},
	} {
		got := decided(t, test.rest, test.events...)
		if n := strings.Count(got, test.has); n != test.times {
			t.Errorf("%s: %s: %d times %s in\n%s", test.rule, test.rest, n, test.has, got)
		}
	}
}

// slowRow are good calls, and slow ones, and one call more.
func slowRow(good, slow int) (events []string) {
	at := time.Duration(0)
	for i := range good + slow {
		events = append(events, call(at, i, ""))
		if i >= good {
			at += 2 * time.Second
		}
		events = append(events, done(at, i, "ok"))
	}
	return append(events, call(at, good+slow, ""))
}

// TestSaidOfShares compares enforce: 100% with no enforce.
func TestSaidOfShares(t *testing.T) {
	var events []string
	for i := range 20 {
		events = append(events, call(0, i, fmt.Sprint(i%3)))
	}
	with := decided(t, "steps: [{limit: {rate: 3/h, burst: 3, enforce: 100%}}]", events...)
	if without := decided(t, "steps: [{limit: {rate: 3/h, burst: 3}}]", events...); with != without {
		t.Errorf("got\n%s\nwithout\n%s", with, without)
	}
}

// TestSaidOfBlocks compares when a caller that was refused at a mark is admitted with a
// short block and without one: later by less than the time between two permits.
func TestSaidOfBlocks(t *testing.T) {
	first := func(settings string, refused time.Duration) time.Duration {
		for at := refused + 1e6; ; at += 1e6 {
			events := []string{call(0, 1, "a"), call(refused, 2, "a"), call(at, 3, "a")}
			if strings.Count(decided(t, "steps: [{limit: {rate: 1/50ms, burst: 1, per: key"+settings+"}}]", events...), "admit") == 2 {
				return at
			}
		}
	}
	later := time.Duration(0)
	for refused := time.Duration(1e6); refused < 50e6; refused += 12e6 {
		later = max(later, first(", block: 40ms", refused)-first("", refused))
	}
	if later == 0 || later >= 50e6 {
		t.Errorf("later by up to %s", later)
	}
}

// TestSaidOfWarmUps counts what a cold bucket lets pass in the time of its warm-up, asked at
// every nanosecond.
func TestSaidOfWarmUps(t *testing.T) {
	for steps, want := range map[string]struct {
		over         time.Duration
		passed, rate int // rate is 0 where nothing is found
	}{
		"{limit: {rate: 1/10ns, warm_up: 30ns}}":               {30, 3, 3},
		"{limit: {rate: 10/100ns, burst: 10, warm_up: 300ns}}": {300, 30, 30},
		"{limit: {rate: 10/100ns, burst: 9, warm_up: 300ns}}":  {300, 29, 0},
	} {
		var events []string
		for at := time.Duration(0); at <= want.over; at++ {
			events = append(events, call(at, len(events), ""))
		}
		got := strings.Count(decided(t, "steps: ["+steps+"]", events...), "admit")
		if got != want.passed {
			t.Errorf("%s: %d pass, not %d", steps, got, want.passed)
		}
		r := check(t, steps+", {timeout: 5s}")
		said := strings.Contains(fmt.Sprint(r.Policies[0].Findings), fmt.Sprintf("lets %d pass in the %s of its warm-up, and its rate is %d in that time", want.passed, want.over, want.rate))
		if said != (want.rate > 0) {
			t.Errorf("%s: %v", steps, r.Policies[0].Findings)
		}
	}
}
