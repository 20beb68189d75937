package js_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// drawer draws programs.
type drawer struct {
	*rand.Rand
	marks int // marks that were drawn
}

func (d *drawer) chance(percent int) bool { return d.IntN(100) < percent }

// some draws one of several texts.
func (d *drawer) some(of ...string) string { return of[d.IntN(len(of))] }

// ms draws a duration of whole milliseconds.
func (d *drawer) ms(least, most int) string { return fmt.Sprintf("%dms", least+d.IntN(most-least+1)) }

// mark draws a mark or a span of whole milliseconds and of microseconds that no other one
// has, so that little coincides.
func (d *drawer) mark(least, most int) float64 {
	d.marks++
	return float64(least+d.IntN(most-least+1)) + float64(d.marks%997+1)/1e3
}

// drawNest draws a program.
func drawNest(rng *rand.Rand) nest {
	d := &drawer{Rand: rng}
	p := nest{Until: 120_000, Guards: []guard{}, Calls: []call{}, Actions: []action{}}
	for range 1 + d.IntN(4) {
		p.Guards = append(p.Guards, d.guard())
	}
	// Some programs use the same guards around each other in every call, others do not.
	shared := d.chain(len(p.Guards))
	for i := range 1 + d.IntN(14) {
		c := call{ID: fmt.Sprint(i), At: d.mark(0, 12_000), Chain: shared, Wrap: d.chance(15), Cost: 1}
		if d.chance(25) {
			c.Chain = d.chain(len(p.Guards))
		}
		if d.chance(10) {
			c.Cost = uint32(d.IntN(4))
		}
		if d.chance(15) {
			c.Deadline = d.mark(200, 5_000)
		}
		if d.chance(20) {
			c.Cancel = d.mark(10, 5_000)
		}
		for range 1 + d.IntN(4) {
			e := ending{Takes: d.mark(0, d.pick(300, 1_500, 4_000)), Outcome: d.some("ok", "ok", "ok", "fail", "fail", "fail", "throttle", "ignore")}
			if e.Outcome != "ok" && d.chance(15) {
				e.After = d.mark(50, 2_000)
			}
			c.Attempts = append(c.Attempts, e)
		}
		p.Calls = append(p.Calls, c)
	}
	if d.chance(40) {
		for range 1 + d.IntN(3) {
			if a, ok := d.action(p.Guards); ok {
				p.Actions = append(p.Actions, a)
			}
		}
	}
	for i := range p.Calls {
		p.Calls[i].Chain = p.settled(p.Calls[i].Chain)
	}
	return p
}

// settled leaves out of a chain the guards at which calls wait below a hedge of another
// guard: the end of an attempt makes room for another one of the same call, and whether that
// starts before it has lost is open.
func (p nest) settled(chain []int) []int {
	has := func(guard int, words ...string) bool {
		bodies := string(p.Guards[guard].Body)
		for _, a := range p.Actions {
			if a.Guard == guard {
				bodies += string(a.Body)
			}
		}
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(bodies, `"`+word+`":`) })
	}
	hedged := slices.IndexFunc(chain, func(guard int) bool { return has(guard, "hedge") })
	if hedged < 0 {
		return chain
	}
	// In Go an attempt that lost holds its places until its function returns, which is at the same mark.
	places := func(guard int) bool {
		return p.Guards[guard].Kind == "bulkhead" || has(guard, "bulkhead", "adaptive")
	}
	if places(chain[hedged]) {
		return chain[hedged : hedged+1]
	}
	inner := slices.DeleteFunc(slices.Clone(chain[hedged+1:]), func(guard int) bool { return places(guard) || has(guard, "wait", "queue") })
	return append(slices.Clone(chain[:hedged+1]), inner...)
}

func (d *drawer) pick(of ...int) int { return of[d.IntN(len(of))] }

// chain draws guards around each other, each once. Two of them are around each other in one
// order alone: else what a call still holds of one, when it returns the other, is open.
func (d *drawer) chain(n int) []int {
	chain := d.Perm(n)[:1+d.IntN(n)]
	slices.Sort(chain)
	return chain
}

// guard draws a pipeline or a mechanism alone.
func (d *drawer) guard() guard {
	g := guard{Kind: "pipeline"}
	if d.chance(30) {
		g.Kind = d.some("limit", "breaker", "bulkhead", "retry")
		g.Body = json.RawMessage(d.settings(g.Kind, true))
	} else {
		g.Fallback = d.chance(15)
		g.Body = d.policy(g.Fallback)
	}
	if g.Kind != "limit" && g.Kind != "bulkhead" && !g.Fallback && d.chance(30) {
		g.Hook = d.some("throws", "strange", "fail", "throttle", "ignore")
	}
	g.Listener = d.chance(15)
	return g
}

// policy draws a policy. Its steps have the names of their mechanisms and a number.
func (d *drawer) policy(fallback bool) json.RawMessage {
	var kinds []string
	for range 1 + d.IntN(4) {
		kinds = append(kinds, d.some("limit", "breaker", "bulkhead", "timeout", "adaptive"))
	}
	if d.chance(50) {
		kinds = slices.Insert(kinds, d.IntN(len(kinds)+1), "retry")
	}
	if d.chance(20) {
		kinds = append(kinds, "hedge")
		if d.chance(50) {
			kinds = append(kinds, d.some("limit", "bulkhead", "timeout"))
		}
	}
	steps := make([]string, len(kinds))
	for i, kind := range kinds {
		body := d.settings(kind, false)
		more := fmt.Sprintf(`"name":"%s-%d"`, kind, i)
		if d.chance(10) {
			more += `,"shadow":true`
		}
		steps[i] = fmt.Sprintf(`{"%s":%s,%s}`, kind, strings.TrimSuffix(body, "}"), more+"}")
	}
	text := `{"steps":[` + strings.Join(steps, ",") + `]`
	if fallback {
		text += `,"fallback":{}`
	}
	return json.RawMessage(text + "}")
}

// settings draws the settings of a mechanism as a map.
func (d *drawer) settings(kind string, alone bool) string {
	var all []string
	set := func(format string, values ...any) { all = append(all, fmt.Sprintf(format, values...)) }
	switch kind {
	case "limit":
		set(`"rate":"%d/%s"`, 1+d.IntN(4), d.ms(200, 4_000))
		set(`"algorithm":"%s"`, d.some("token-bucket", "token-bucket", "fixed-window", "sliding-log", "leaky-bucket", "sliding-counter"))
		if d.chance(50) {
			set(`"wait":"%s"`, d.ms(200, 5_000))
			if d.chance(50) {
				set(`"queue":%d`, 1+d.IntN(3))
			}
			if d.chance(20) {
				set(`"order":"newest"`)
			}
		} else if d.chance(20) {
			set(`"block":"%s"`, d.ms(300, 3_000))
		}
	case "breaker":
		set(`"window":%s`, d.some(`{"consecutive":1}`, `{"consecutive":2}`, `{"calls":3}`, `{"time":"5s","buckets":5}`))
		if !strings.Contains(all[0], "consecutive") {
			set(`"minimum":%d`, 1+d.IntN(3))
		}
		set(`"open":"%s"`, d.ms(300, 5_000))
		set(`"probes":%d`, 1+d.IntN(2))
		if d.chance(20) {
			set(`"obey_retry_after":"%s"`, d.ms(300, 5_000))
		}
		if d.chance(20) {
			set(`"slow":{"over":"%s","consecutive":%d}`, d.ms(200, 2_000), 1+d.IntN(2))
		}
	case "bulkhead":
		set(`"concurrent":%d`, 1+d.IntN(3))
		if d.chance(60) {
			set(`"queue":%d`, 1+d.IntN(3))
			if d.chance(70) {
				set(`"wait":"%s"`, d.ms(200, 5_000))
			}
		}
	case "adaptive":
		set(`"maximum":%d`, 1+d.IntN(6))
		set(`"over":"%s"`, d.ms(200, 2_000))
	case "timeout":
		after := 300 + d.IntN(6_000)
		set(`"after":"%dms"`, after)
		if d.chance(60) {
			set(`"soft":"%s"`, d.ms(1, after-1))
		}
	case "retry":
		set(`"attempts":%d`, 1+d.IntN(4))
		set(`"jitter":"none"`)
		set(`"backoff":%s`, d.some(`{"constant":"`+d.ms(1, 1_500)+`"}`, `{"exponential":"`+d.ms(1, 900)+`"}`, `{"linear":"`+d.ms(1, 900)+`"}`))
		if d.chance(25) {
			set(`"budget":%s`, d.some(`{"ratio":"50%","minimum":"1/1s"}`, `{"tokens":10}`))
		}
		if d.chance(15) {
			set(`"max_elapsed":"%s"`, d.ms(500, 6_000))
		}
		if !alone && d.chance(15) {
			set(`"refusals":"wait"`)
		}
	case "hedge":
		set(`"after":"%s"`, d.ms(50, 2_000))
		set(`"max":%d`, 1+d.IntN(2))
	}
	return "{" + strings.Join(all, ",") + "}"
}

// action draws what an operator does to a guard, where it can be.
func (d *drawer) action(guards []guard) (action, bool) {
	i := d.IntN(len(guards))
	a := action{At: d.mark(0, 12_000), Guard: i, Op: d.some("reset", "transition", "configure")}
	a.To = d.some("closed", "open", "half-open", "forced-open", "forced-closed", "metrics-only")
	switch g := guards[i]; g.Kind {
	case "breaker":
		return a, a.Op == "transition"
	case "pipeline":
		if a.Op == "configure" {
			a.Body = d.policy(g.Fallback)
			return a, true
		}
		var p struct{ Steps []map[string]map[string]any }
		if err := json.Unmarshal(g.Body, &p); err != nil {
			panic(err)
		}
		for kind, settings := range p.Steps[d.IntN(len(p.Steps))] {
			a.Step, _ = settings["name"].(string)
			can := kind == "breaker" && a.Op == "transition" || a.Op == "reset" && (kind == "limit" || kind == "bulkhead")
			return a, can
		}
	}
	return a, false
}
