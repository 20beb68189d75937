package simtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/goal"
)

// RequireSteady requires that the goodput of the clients was never below nine tenths of
// that before any fault, nor below half of what their services could have done.
func (r *Runs) RequireSteady() {
	r.t.Helper()
	r.clients("the verdict steady", nothing, func(v *view, c *sim.ClientResult) *finding {
		if c.Verdict == sim.Steady {
			return nil
		}
		return &finding{kind: "not steady", text: "the verdict " + string(c.Verdict)}
	})
}

// RequireNotMetastable requires that no client stays below nine tenths of the goodput
// before any fault when nothing that could cause it goes on.
func (r *Runs) RequireNotMetastable() {
	r.t.Helper()
	r.clients("any verdict but metastable", loadAndTime, func(v *view, c *sim.ClientResult) *finding {
		if c.Verdict != sim.Metastable {
			return nil
		}
		kind := "metastable"
		if v.repaired(c.Name) != clock.Never {
			kind = "metastable after a fault"
		}
		return &finding{kind: kind, text: "the verdict metastable"}
	})
}

// RequireRecovers requires that the clients are back at nine tenths of the goodput
// before any fault within a time after the end of the last fault. It is not met by a
// client whose services have no fault.
func (r *Runs) RequireRecovers(within time.Duration) {
	r.t.Helper()
	r.clients(fmt.Sprintf("recovery within %v after the last fault", within), load, func(v *view, c *sim.ClientResult) *finding {
		over := v.repaired(c.Name)
		switch {
		case over == clock.Never:
			return &finding{kind: "no fault", text: "no fault to recover from"}
		case c.Recovery < 0 && clock.Mark(v.result.Duration).Sub(over) < within:
			return &finding{kind: "too short", text: "no recovery until the scenario ends, " + clock.Mark(v.result.Duration).Sub(over).String() + " after the last fault"}
		case c.Recovery < 0 && c.Verdict == sim.Steady:
			return &finding{kind: "few calls", text: "too few calls before the fault to compare with"}
		case c.Recovery < 0:
			return &finding{kind: "no recovery", text: "no recovery, and the verdict " + string(c.Verdict)}
		case c.Recovery > within:
			return &finding{kind: "late", text: fmt.Sprintf("recovery after %v", c.Recovery)}
		}
		return nil
	})
}

// RequireGoodput requires that at least a share of the calls, from 0 to 1, ended ok.
// Calls that the end of the scenario cut off are not counted.
func (r *Runs) RequireGoodput(least float64) {
	r.t.Helper()
	r.clients(fmt.Sprintf("at least %s of the calls end ok", percent(least)), nothing, func(v *view, c *sim.ClientResult) *finding {
		return below("goodput", "%s of %d calls", c.OK, c.Calls-c.Unfinished, least)
	})
}

// RequireMaxAmplification requires at most so many attempts for each call. Calls that
// a client makes again are not counted as calls.
func (r *Runs) RequireMaxAmplification(most float64) {
	r.t.Helper()
	r.clients(fmt.Sprintf("at most %v attempts a call", most), nothing, func(v *view, c *sim.ClientResult) *finding {
		if c.Amplification <= most {
			return nil
		}
		return &finding{kind: "amplification", text: fmt.Sprintf("%.4g attempts a call", c.Amplification)}
	})
}

// RequireMaxLatency requires that a percentile of the latency of the calls that ended
// ok is at most a duration: 50 is the median, 100 the slowest call. The percentile is
// the nearest rank, exactly.
func (r *Runs) RequireMaxLatency(percentile float64, most time.Duration) {
	r.t.Helper()
	if percentile <= 0 || percentile > 100 {
		r.t.Fatalf("simtest: found the percentile %v; allowed: above 0, at most 100", percentile)
	}
	r.clients(fmt.Sprintf("a latency of at most %v at the %s percentile", most, ordinal(percentile)), nothing, func(v *view, c *sim.ClientResult) *finding {
		if took, ok := v.latency(c.Name, percentile); ok && took > most {
			return &finding{kind: "latency", text: took.String()}
		}
		return nil
	})
}

// RequireFair requires that Jain's index of the shares of calls that ended ok, over the
// keys of a client, is at least a number from 0 to 1.
func (r *Runs) RequireFair(least float64) {
	r.t.Helper()
	r.clients(fmt.Sprintf("a fairness between keys of at least %v", least), nothing, func(v *view, c *sim.ClientResult) *finding {
		if c.Fairness >= least {
			return nil
		}
		return &finding{kind: "fairness", text: fmt.Sprintf("a fairness of %.4g", c.Fairness)}
	})
}

// RequireNoRefusals requires that none of the steps of the clients' policies refused a
// call. Without a name it is about all steps.
func (r *Runs) RequireNoRefusals(steps ...string) {
	r.t.Helper()
	what := "no refusals"
	if len(steps) > 0 {
		what += " by " + strings.Join(steps, ", ")
	}
	r.clients(what, nothing, func(v *view, c *sim.ClientResult) *finding {
		for _, one := range c.Refusals {
			if len(steps) == 0 || slices.Contains(steps, one.Step) {
				return &finding{kind: one.Step + " " + one.Reason, text: fmt.Sprintf("%d refusals by %s: %s", one.Calls, one.Step, one.Reason)}
			}
		}
		return nil
	})
}

// RequireOpensWithin requires that each breaker of the clients' policies is open within
// a time after the begin of the first fault, or of the scenario where it has none.
func (r *Runs) RequireOpensWithin(most time.Duration) {
	r.t.Helper()
	r.clients(fmt.Sprintf("breakers open within %v after the first fault", most), load, func(v *view, c *sim.ClientResult) *finding {
		return v.opens(c, func(o *opening) bool { return o.after > most }, func(o *opening) string { return o.after.String() })
	})
}

// RequireOpensWithinCalls requires that each breaker of the clients' policies is open
// after at most so many calls that arrive since the begin of the first fault, or of the
// scenario where it has none.
func (r *Runs) RequireOpensWithinCalls(most int) {
	r.t.Helper()
	r.clients(fmt.Sprintf("breakers open within %d calls after the first fault", most), load, func(v *view, c *sim.ClientResult) *finding {
		return v.opens(c, func(o *opening) bool { return o.calls > most }, func(o *opening) string { return plural(o.calls, "call") })
	})
}

// RequireStaysClosed requires that no breaker of the clients' policies opens.
func (r *Runs) RequireStaysClosed() {
	r.t.Helper()
	r.clients("breakers stay closed", nothing, func(v *view, c *sim.ClientResult) *finding {
		for _, b := range c.Breakers {
			if b.Opened > 0 {
				return &finding{kind: "opened " + b.Step, text: fmt.Sprintf("%s open after %v", b.Step, b.First)}
			}
		}
		return nil
	})
}

// RequireNeverExceeds requires that at most limit requests arrive at a service in any
// window of time [t, t+window), which is counted exactly. With a client selected it is
// about the requests for its calls.
func (r *Runs) RequireNeverExceeds(limit int, window time.Duration) {
	r.t.Helper()
	r.services(fmt.Sprintf("at most %s in any %v", plural(limit, "request"), window), func(v *view, s *sim.ServiceResult) *finding {
		at, found := v.exceeds(s.Name, limit, window)
		if !found {
			return nil
		}
		return &finding{kind: "exceeded", text: fmt.Sprintf("%d from %v on", v.arrivals(s.Name, at, window), time.Duration(at))}
	})
}

// RequireMaxWaste requires that at most a share of the requests that a service serves,
// from 0 to 1, has callers that have given up.
func (r *Runs) RequireMaxWaste(most float64) {
	r.t.Helper()
	r.services(fmt.Sprintf("at most %s of the served requests wasted", percent(most)), func(v *view, s *sim.ServiceResult) *finding {
		if s.Served == 0 || float64(s.Wasted) <= most*float64(s.Served) {
			return nil
		}
		return &finding{kind: "waste", text: fmt.Sprintf("%s of %d requests", percent(float64(s.Wasted)/float64(s.Served)), s.Served)}
	})
}

// RequireGoal requires a condition on a figure of the result, by its path in the JSON
// of sluice simulate, as in "clients.web.ok >= 99%". Text that is not a condition, or
// names no figure, ends the test.
func (r *Runs) RequireGoal(condition string) {
	r.t.Helper()
	g, err := goal.Parse(condition)
	if err == nil {
		_, err = goal.Of(r.list[0].result).Resolve(g.Path)
	}
	if err != nil {
		r.t.Fatalf("simtest: %v", err)
	}
	r.require(requirement{what: condition, check: func(v *view) *finding {
		found, met, err := g.Check(goal.Of(v.result))
		if err != nil || met {
			return nil // a smaller scenario may not have the figure
		}
		return &finding{kind: "goal", text: found}
	}})
}

// RequireThat requires what a function of the test checks: it returns nil where the
// result is good.
func (r *Runs) RequireThat(what string, check func(*sim.Result) error) {
	r.t.Helper()
	r.require(requirement{what: what, check: func(v *view) *finding {
		if err := check(v.result); err != nil {
			return &finding{kind: "check", text: err.Error()}
		}
		return nil
	}})
}

// requirement is a condition on a run.
type requirement struct {
	what  string
	keeps kept
	check func(*view) *finding
}

// kept is what shrinking keeps of a scenario, so that it does not fail for a reason
// that the whole one does not have: with fewer calls a breaker does not open, and
// shortly after a fault no client has recovered.
type kept uint8

const (
	nothing kept = iota
	load
	loadAndTime
)

// finding is how a requirement is not met. Runs that have findings of the same kind
// fail in the same way.
type finding struct{ kind, text string }

// clients requires something of each selected client.
func (r *Runs) clients(what string, keeps kept, check func(*view, *sim.ClientResult) *finding) {
	r.t.Helper()
	r.require(requirement{what: what, keeps: keeps, check: func(v *view) *finding {
		for i := range v.result.Clients {
			c := &v.result.Clients[i]
			if r.client != "" && r.client != c.Name {
				continue
			}
			if f := check(v, c); f != nil {
				return f.of("client " + c.Name)
			}
		}
		return nil
	}})
}

// services requires something of each selected service.
func (r *Runs) services(what string, check func(*view, *sim.ServiceResult) *finding) {
	r.t.Helper()
	r.require(requirement{what: what, check: func(v *view) *finding {
		for i := range v.result.Services {
			s := &v.result.Services[i]
			if r.service != "" && r.service != s.Name {
				continue
			}
			if f := check(v, s); f != nil {
				return f.of("service " + s.Name)
			}
		}
		return nil
	}})
}

// of returns the finding as a finding of a client or a service.
func (f *finding) of(name string) *finding {
	return &finding{kind: f.kind, text: name + ": " + f.text}
}

// require checks a requirement and ends the test where a run does not meet it.
func (r *Runs) require(q requirement) {
	r.t.Helper()
	for _, one := range r.list {
		if f := q.check(r.view(one)); f != nil {
			r.t.Fatal(r.failure(q, one, f))
			return
		}
	}
}

// view is a run as a requirement sees it.
type view struct {
	*run
	client string
}

func (r *Runs) view(one *run) *view { return &view{run: one, client: r.client} }

// below returns a finding where a part of a whole is too small.
func below(kind, text string, part, whole uint64, least float64) *finding {
	if whole == 0 || float64(part) >= least*float64(whole) {
		return nil
	}
	return &finding{kind: kind, text: fmt.Sprintf(text, percent(float64(part)/float64(whole)), whole)}
}
