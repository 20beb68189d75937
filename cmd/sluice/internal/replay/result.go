package replay

import (
	"cmp"
	"encoding/json"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// Refusal counts the calls that a step refused for a reason.
type Refusal struct {
	Policy string `json:"policy,omitempty"`
	Step   string `json:"step"`
	Reason string `json:"reason"`
	Calls  int    `json:"calls"`
}

// Share counts the calls of a key or a route.
type Share struct {
	Name    string `json:"name"`
	Calls   int    `json:"calls"`
	Refused int    `json:"refused"`
}

// Change is a call that became of something else.
type Change struct {
	ID   string `json:"id"`
	At   string `json:"at"`
	Key  string `json:"key,omitempty"`
	From string `json:"from"`
	To   string `json:"to"`
}

// Result is what a run decided.
type Result struct {
	Calls int `json:"calls"`
	// Unmatched calls belong to no policy.
	Unmatched int `json:"unmatched"`
	// Admitted calls had at least one attempt, and no step refused them later. Refused ones
	// were refused by a step: at once, after a wait, or at another attempt. A call counts once.
	Admitted int `json:"admitted"`
	Refused  int `json:"refused"`
	// Waited calls were in a queue.
	Waited int `json:"waited"`
	// Attempts were admitted, in all. Cut is how many timeouts cut something.
	Attempts int `json:"attempts"`
	Cut      int `json:"timeouts"`
	// Outcomes are how calls ended that were not refused.
	Outcomes map[string]int `json:"outcomes"`
	Refusals []Refusal      `json:"refusals"`
	// Keys and Routes are those with the most refused calls.
	Keys   []Share `json:"keys"`
	Routes []Share `json:"routes"`

	recording *Recording
	verdicts  []Verdict
	policies  []string
	keys      []string
	admitted  []bool
	waited    []bool
	routes    map[int]string
}

// mostShares is how many keys and routes are listed.
const mostShares = 10

func newResult(rec *Recording) *Result {
	n := len(rec.Calls)
	return &Result{
		recording: rec, Calls: n, Outcomes: map[string]int{}, verdicts: make([]Verdict, n), policies: make([]string, n), keys: make([]string, n),
		admitted: make([]bool, n), waited: make([]bool, n), routes: map[int]string{},
	}
}

// began notes under which policy a call is decided, and what names its caller: the
// attributes of the outermost step with cells for each of their values, else its key or its
// address.
func (r *Result) began(call int, policy string, plan *pipeline.Plan) {
	r.policies[call] = policy
	c := &r.recording.Calls[call]
	if steps := plan.Keyed(); steps != 0 {
		var values []string
		for _, attribute := range plan.Per(bits.TrailingZeros16(steps)) {
			values = append(values, keyed.Key(attribute, c.Event.Lookup(attribute)))
		}
		r.keys[call] = strings.Join(values, ", ")
		return
	}
	if r.keys[call] = c.Event.Key; r.keys[call] == "" {
		r.keys[call] = keyed.Key(keyed.IP, c.Event.Lookup(keyed.IP))
	}
}

// decide takes in a decision about a call.
func (r *Result) decide(call int, d *decision.Decision) {
	if d.Shadow {
		return
	}
	switch d.Kind {
	case decision.Admit:
		r.Attempts++
		r.admitted[call] = true
		if !r.verdicts[call].Known {
			r.verdicts[call] = Verdict{Known: true, At: time.Duration(d.At), RetryAfter: -1}
		}
	case decision.Wait:
		r.waited[call] = true
	case decision.Timeout:
		r.Cut++
	case decision.Reject, decision.Expire:
		after := d.RetryAfter
		if d.Kind == decision.Expire {
			after = -1
		}
		r.verdicts[call] = Verdict{Known: true, Refused: true, At: time.Duration(d.At), Step: d.Step, Reason: d.Reason.String(),
			RetryAfter: after}
	case decision.End:
		v := Verdict{Known: true, At: time.Duration(d.At), Outcome: d.Outcome.String(), RetryAfter: -1}
		if d.Reason != reducer.NoReason {
			v.Reason = d.Reason.String()
		}
		r.verdicts[call] = v
	}
}

// finish makes the counts.
func (r *Result) finish() {
	refusals := map[Refusal]int{}
	keys, routes := map[string]*Share{}, map[string]*Share{}
	count := func(shares map[string]*Share, name string, refused bool) {
		s := shares[name]
		if s == nil {
			s = &Share{Name: name}
			shares[name] = s
		}
		s.Calls++
		if refused {
			s.Refused++
		}
	}
	several := slices.ContainsFunc(r.policies, func(name string) bool { return name != "" && name != r.policies[0] })
	for i, v := range r.verdicts {
		c := &r.recording.Calls[i]
		if r.admitted[i] && !v.Refused {
			r.Admitted++
		}
		if r.waited[i] {
			r.Waited++
		}
		route := c.Route
		if r.routes[i] != "" {
			route = r.routes[i]
		}
		if route != "" {
			count(routes, route, v.Refused)
		}
		if key := r.keys[i]; key != "" {
			count(keys, key, v.Refused)
		}
		switch {
		case v.Refused:
			r.Refused++
			of := Refusal{Step: v.Step, Reason: v.Reason}
			if several {
				of.Policy = r.policies[i]
			}
			refusals[of]++
		case v.Outcome != "":
			r.Outcomes[v.Outcome]++
		}
	}
	r.Refusals = []Refusal{}
	for of, n := range refusals {
		of.Calls = n
		r.Refusals = append(r.Refusals, of)
	}
	slices.SortFunc(r.Refusals, func(a, b Refusal) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Step, b.Step),
			cmp.Compare(a.Reason, b.Reason))
	})
	r.Keys, r.Routes = top(keys), top(routes)
}

// top returns the shares with the most refused calls.
func top(shares map[string]*Share) []Share {
	list := []Share{}
	for _, s := range shares {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b Share) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Name, b.Name))
	})
	return list[:min(len(list), mostShares)]
}

// Name returns the id of a call for people: a text without its quotes.
func (c *Call) Name() string {
	var text string
	if json.Unmarshal([]byte(c.ID), &text) == nil {
		return text
	}
	return c.ID
}

// String says what became of a call.
func (v Verdict) String() string {
	switch {
	case !v.Known:
		return "waits"
	case v.Refused && v.Step == "":
		return "refused (" + v.Reason + ")"
	case v.Refused:
		return "refused by " + v.Step + " (" + v.Reason + ")"
	case v.Outcome == "":
		return "admitted"
	}
	return "admitted, " + v.Outcome
}

// Comparison says how what became of the calls differs.
type Comparison struct {
	// Compared calls have a verdict on both sides.
	Compared int `json:"compared"`
	// NowRefused were admitted on the first side, NowAdmitted refused on it.
	NowRefused  int `json:"now_refused"`
	NowAdmitted int `json:"now_admitted"`
	// OtherStep were refused by another step or for another reason, OtherOutcome admitted
	// with another outcome.
	OtherStep    int      `json:"other_step"`
	OtherOutcome int      `json:"other_outcome"`
	First        []Change `json:"first"`
}

// Recorded compares what was recorded with a result. The outcomes of the answers in an
// access log are statuses, which are not compared.
func (r *Result) Recorded(most int) *Comparison {
	was := make([]Verdict, len(r.recording.Calls))
	for i := range was {
		was[i] = r.recording.Calls[i].Was
	}
	outcomes := r.recording.Format == Trace || r.recording.Format == Events
	return compare(r, was, r.verdicts, outcomes, most)
}

// Compare compares the results of two policies.
func Compare(a, b *Result, most int) *Comparison {
	return compare(b, a.verdicts, b.verdicts, true, most)
}

func compare(r *Result, first, second []Verdict, outcomes bool, most int) *Comparison {
	x := &Comparison{First: []Change{}}
	for i := range first {
		a, b := first[i], second[i]
		if !a.Known || !b.Known {
			continue
		}
		x.Compared++
		switch {
		case !a.Refused && b.Refused:
			x.NowRefused++
		case a.Refused && !b.Refused:
			x.NowAdmitted++
		case a.Refused && b.Refused && (a.Step != "" && a.Step != b.Step || a.Reason != b.Reason):
			x.OtherStep++
		case outcomes && !a.Refused && a.Outcome != "" && b.Outcome != "" && a.Outcome != b.Outcome:
			x.OtherOutcome++
		default:
			continue
		}
		if len(x.First) < most {
			c := &r.recording.Calls[i]
			x.First = append(x.First, Change{ID: c.Name(), At: time.Duration(c.Event.At).String(), Key: r.keys[i], From: a.String(), To: b.String()})
		}
	}
	return x
}
