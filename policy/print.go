package policy

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/calendar"
	"github.com/sluice-go/sluice/core/chaos"
	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/reducer"
)

// object is a JSON object; its fields are printed in the order of the alphabet.
type object = map[string]any

// BodyJSON returns the body of a policy, as ParseOne reads it, in JSON on one line. Every
// setting that has a default is written out. It has the steps and the fallback; what a
// document says beside them, as the outcomes of answers, is not a part of the policy.
func BodyJSON(p pipeline.Policy) []byte {
	text, err := json.Marshal(policyObject(p))
	if err != nil {
		// The body has texts, numbers, lists and objects alone.
		panic("policy: " + err.Error())
	}
	return text
}

func policyObject(p pipeline.Policy) object {
	o := object{"pass": true}
	if !p.Pass {
		steps, mechanisms := []object{}, object{}
		for _, s := range p.Steps {
			step := object{s.Kind().String(): stepObject(s)}
			if s.Mechanism != "" {
				shared := s
				shared.Name, shared.Shadow = "", false
				// A use in shadow does not say for which share the mechanism enforces.
				if mechanisms[s.Mechanism] == nil || !s.Shadow {
					mechanisms[s.Mechanism] = object{s.Kind().String(): stepObject(shared)}
				}
				step = object{"use": useObject(s)}
			}
			steps = append(steps, step)
		}
		o = object{"steps": steps}
		if len(mechanisms) > 0 {
			o["mechanisms"] = mechanisms
		}
	}
	if len(p.Allow) > 0 {
		o["allow"] = conditionValue(p.Allow)
	}
	if len(p.Deny) > 0 {
		o["deny"] = conditionValue(p.Deny)
	}
	if p.Fallback != nil {
		o["fallback"] = object{"status": p.Fallback.Status, "body": p.Fallback.Body}
	}
	return o
}

// useObject prints a step that shares a mechanism.
func useObject(s pipeline.Step) object {
	o := object{"mechanism": s.Mechanism}
	if s.Name != "" {
		o["name"] = s.Name
	}
	if s.Shadow {
		o["shadow"] = true
	}
	return o
}

func stepObject(s pipeline.Step) object {
	var o object
	switch c := s.Config.(type) {
	case timeout.Config:
		o = object{"after": span(c.After)}
		if c.Soft > 0 {
			o["soft"] = span(c.Soft)
		}
	case retry.Config:
		o = retryObject(c)
	case breaker.Config:
		o = breakerObject(c)
	case limiter.Config:
		o = limitObject(c)
	case bulkhead.Config:
		o = bulkheadObject(c)
	case hedge.Config:
		o = hedgeObject(c)
	case adaptive.Config:
		o = adaptiveObject(c)
	case chaos.Config:
		o = chaosObject(c)
	}
	if s.Name != "" {
		o["name"] = s.Name
	}
	if s.Shadow {
		o["shadow"] = true
	}
	if len(s.When) > 0 {
		o["when"] = conditionValue(s.When)
	}
	if s.Enforce.Of.Positive() {
		o["enforce"] = share(s.Enforce.Of)
		if s.Enforce.By != "" {
			o["enforce"] = object{"share": share(s.Enforce.Of), "by": s.Enforce.By}
		}
	}
	if len(s.Per) == 0 {
		return o
	}
	o["per"] = s.Per
	if len(s.Per) == 1 {
		o["per"] = s.Per[0]
	}
	if s.Keys > 0 {
		o["keys"] = s.Keys
	}
	o["when_full"] = [...]string{"evict", "share"}[s.WhenFull]
	o["missing"] = s.Missing.String()
	return o
}

// conditionValue prints a condition: a map, or a list of them.
func conditionValue(c condition.Condition) any {
	cases := make([]object, len(c))
	for i := range c {
		cases[i] = entriesObject(c[i].All)
		if len(c[i].None) > 0 {
			cases[i]["not"] = entriesObject(c[i].None)
		}
	}
	if len(cases) == 1 {
		return cases[0]
	}
	return cases
}

func entriesObject(entries []condition.Entry) object {
	o := object{}
	for _, e := range entries {
		o[e.Attribute] = e.Values
		if len(e.Values) == 1 {
			o[e.Attribute] = e.Values[0]
		}
	}
	return o
}

func retryObject(c retry.Config) object {
	o := object{"attempts": c.Attempts, "backoff": "none"}
	if c.Backoff.Kind != backoff.None {
		o["backoff"] = backoffObject(c.Backoff)
	}
	if c.Backoff.Kind != backoff.None && c.Backoff.Kind != backoff.Decorrelated {
		o["jitter"] = jitter(c.Backoff)
	}
	if c.MaxElapsed > 0 {
		o["max_elapsed"] = span(c.MaxElapsed)
	}
	if c.Refusals == retry.WaitRefused {
		o["refusals"] = "wait"
	}
	if c.Budgeted {
		o["budget"] = budgetObject(c.Budget)
	}
	return o
}

func budgetObject(c budget.Config) object {
	switch c.Rule {
	case budget.Tokens:
		return object{"tokens": c.Tokens, "retry": c.Retry, "timeout": c.Timeout, "refund": c.Refund}
	case budget.Adaptive:
		return object{"adaptive": span(c.Window), "one_above": share(c.OneAbove), "two_above": share(c.TwoAbove), "wait": span(c.Wait)}
	case budget.Throttle:
		return object{"max_tokens": c.Tokens, "token_ratio": json.Number(decimal(int64(c.TokenRatio.Millionths()), 6))}
	}
	return object{
		"ratio":   share(c.Ratio),
		"minimum": rate(c.MinimumCount, c.MinimumPeriod),
		"window":  span(c.Window),
	}
}

func hedgeObject(c hedge.Config) object {
	o := object{"max": c.Max}
	switch {
	case c.Parallel:
		o["parallel"] = true
	case c.Percentile.Positive():
		o["after"] = "p" + decimal(int64(c.Percentile.Millionths()), 4)
		o["samples"] = c.Samples
		o["minimum"] = c.Minimum
	default:
		o["after"] = span(c.After)
	}
	switch {
	case c.Budgeted:
		o["budget"] = budgetObject(c.Budget)
	case c.Unbudgeted:
		o["budget"] = "none"
	}
	return o
}

var backoffNames = map[backoff.Kind]string{
	backoff.Constant: "constant", backoff.Linear: "linear", backoff.Exponential: "exponential",
	backoff.Fibonacci: "fibonacci", backoff.Decorrelated: "decorrelated", backoff.Listed: "delays",
}

// backoffObject prints a backoff without its jitter.
func backoffObject(c backoff.Config) object {
	if c.Kind == backoff.Listed {
		delays := make([]string, c.Delays.Len())
		for i := range delays {
			delays[i] = span(c.Delays.At(i))
		}
		return object{backoffNames[c.Kind]: delays}
	}
	o := object{backoffNames[c.Kind]: span(c.Base)}
	if c.Kind == backoff.Exponential {
		o["factor"] = json.Number(decimal(int64(c.Factor), 6))
	}
	if c.Max > 0 {
		o["max"] = span(c.Max)
	}
	return o
}

// blockObject prints the time of a block.
func blockObject(c backoff.Config) any {
	if c.Kind == backoff.Constant {
		return span(c.Base)
	}
	return backoffObject(c)
}

func jitter(c backoff.Config) string {
	switch c.Jitter {
	case backoff.Full:
		return "full"
	case backoff.Equal:
		return "equal"
	case backoff.Fraction:
		return share(c.Share)
	}
	return "none"
}

func breakerObject(c breaker.Config) object {
	o := object{"probes": c.Probes, "open": span(c.Open.Base)}
	if c.Open.Kind != backoff.Constant || c.Open.Jitter != backoff.NoJitter {
		open := backoffObject(c.Open)
		if c.Open.Jitter != backoff.NoJitter {
			open["jitter"] = jitter(c.Open)
		}
		o["open"] = open
	}
	switch c.Window {
	case breaker.Calls:
		o["window"] = object{"calls": c.Count}
	case breaker.Time:
		o["window"] = object{"time": span(c.Span), "buckets": c.Count}
	case breaker.Consecutive:
		window := object{"consecutive": c.Count}
		if c.Forget > 0 {
			window["forget"] = span(c.Forget)
		}
		o["window"] = window
	}
	if c.Window != breaker.Consecutive {
		o["minimum"] = c.Minimum
		o["failure_rate"] = share(c.FailureRate)
	}
	if c.SlowOver > 0 {
		slow := object{"over": span(c.SlowOver)}
		if c.SlowRate.Positive() {
			slow["rate"] = share(c.SlowRate)
		}
		if c.SlowConsecutive > 0 {
			slow["consecutive"] = c.SlowConsecutive
		}
		o["slow"] = slow
	}
	if c.Successes > 0 {
		o["successes"] = c.Successes
	}
	if c.HalfOpenMax > 0 {
		o["half_open_max"] = span(c.HalfOpenMax)
	}
	if c.Initial != breaker.Closed {
		o["initial"] = c.Initial.String()
	}
	if c.ObeyRetryAfter > 0 {
		o["obey_retry_after"] = span(c.ObeyRetryAfter)
	}
	if c.RampOver > 0 {
		o["ramp"] = object{"over": span(c.RampOver), "from": share(c.RampFrom)}
	}
	return o
}

var algorithmNames = map[limiter.Algorithm]string{
	limiter.TokenBucket: "token-bucket", limiter.FixedWindow: "fixed-window", limiter.SlidingCounter: "sliding-counter",
	limiter.SlidingLog: "sliding-log", limiter.LeakyBucket: "leaky-bucket",
}

var orderNames = map[limiter.Order]string{limiter.Oldest: "oldest", limiter.Newest: "newest"}

func limitObject(c limiter.Config) object {
	o := object{"algorithm": algorithmNames[c.Algorithm], "rate": rate(c.Count, c.Period)}
	if c.Calendar.Unit != calendar.NoUnit {
		o["rate"] = mechanism.CalendarText(c.Count, c.Period, c.Calendar.Unit)
	}
	if c.Calendar.Zone != (calendar.Zone{}) {
		o["zone"] = c.Calendar.Zone.String()
	}
	if c.Algorithm == limiter.TokenBucket && c.Burst > 0 {
		o["burst"] = c.Burst
	}
	if c.Wait > 0 {
		o["wait"] = span(c.Wait)
		o["queue"] = c.Queue
		o["order"] = orderNames[c.Order]
	}
	printCost(o, c.Cost)
	if c.Charge != limiter.ChargeStart {
		o["charge"] = [...]string{"start", "settle", "end"}[c.Charge]
	}
	if c.SettleMax > 0 {
		o["settle_max"] = c.SettleMax
	}
	if c.Counts != 0 {
		o["counts"] = c.Counts.Names()
	}
	if c.Block.After > 0 {
		o["block"] = object{"after": c.Block.After, "for": blockObject(c.Block.For)}
	}
	if c.WarmUp.Over > 0 {
		o["warm_up"] = object{"over": span(c.WarmUp.Over), "factor": c.WarmUp.Factor}
	}
	return o
}

// printCost sets a cost that is given.
func printCost(o object, c limiter.Cost) {
	switch {
	case c.Attribute != "":
		o["cost"] = object{"attribute": c.Attribute, "default": c.Permits}
	case c.Permits > 0:
		o["cost"] = c.Permits
	}
}

func bulkheadObject(c bulkhead.Config) object {
	o := object{"concurrent": c.Concurrent}
	if c.Queue > 0 {
		o["queue"] = c.Queue
		o["order"] = orderNames[c.Order]
	}
	if c.Wait > 0 {
		o["wait"] = span(c.Wait)
	}
	if c.Lease > 0 {
		o["lease"] = span(c.Lease)
	}
	printCost(o, c.Cost)
	return o
}

func adaptiveObject(c adaptive.Config) object {
	o := object{
		"initial": c.Initial, "minimum": c.Minimum, "maximum": c.Maximum,
		"increase": c.Increase, "decrease": share(c.Decrease), "tolerance": share(c.Tolerance), "over": span(c.Over),
	}
	if c.OverShare.Positive() {
		o["over"] = share(c.OverShare)
	}
	if c.Lease > 0 {
		o["lease"] = span(c.Lease)
	}
	printCost(o, c.Cost)
	return o
}

func chaosObject(c chaos.Config) object {
	o := object{"fail": share(c.Fail), "ignore": share(c.Ignore)}
	throttle := object{"rate": share(c.Throttle)}
	if c.RetryAfter > 0 {
		throttle["retry_after"] = span(c.RetryAfter)
	}
	o["throttle"] = throttle
	if c.By > 0 {
		slow := object{"rate": share(c.Slow), "by": span(c.By)}
		if c.To > 0 {
			slow["to"] = span(c.To)
		}
		o["slow"] = slow
	}
	return o
}

func span(d time.Duration) string { return d.String() }

func rate(count uint32, period time.Duration) string {
	return strconv.FormatUint(uint64(count), 10) + "/" + span(period)
}

func share(s reducer.Share) string { return decimal(int64(s.Millionths()), 4) + "%" }

// decimal prints n with the last digits after the point, without needless zeros.
func decimal(n int64, digits int) string {
	text := strconv.FormatInt(n, 10)
	for len(text) <= digits {
		text = "0" + text
	}
	cut := len(text) - digits
	return strings.TrimRight(strings.TrimRight(text[:cut]+"."+text[cut:], "0"), ".")
}
