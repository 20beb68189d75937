package replay

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// Story is what happened to one call, and why.
type Story struct {
	ID         string            `json:"id"`
	Policy     string            `json:"policy"`
	At         string            `json:"at"`
	Key        string            `json:"key,omitempty"`
	Cost       uint32            `json:"cost"`
	Attributes map[string]string `json:"attributes,omitempty"`
	// Moments are the marks at which something was decided about the call.
	Moments []Moment `json:"moments"`
	// Verdict is what became of it, and Recorded what the recording says, where that
	// differs.
	Verdict  string `json:"verdict"`
	Recorded string `json:"recorded,omitempty"`
	// Earlier says what led to a refusal, the latest first, and Omitted how many more
	// there are.
	Because string    `json:"because,omitempty"`
	Earlier []Earlier `json:"earlier,omitempty"`
	Omitted int       `json:"omitted,omitempty"`
	// Remedy says what would have admitted the call.
	Remedy string `json:"remedy,omitempty"`
}

// Moment is a mark of a Story.
type Moment struct {
	At        string      `json:"at"`
	Decisions []string    `json:"decisions"`
	Steps     []StepState `json:"steps"`
}

// StepState is a step at a Moment.
type StepState struct {
	Step      string `json:"step"`
	Mechanism string `json:"mechanism"`
	Before    string `json:"before,omitempty"`
	After     string `json:"after,omitempty"`
	// Decides says that a decision of the moment is the step's.
	Decides bool `json:"decides,omitempty"`
}

// Earlier is something that an earlier call did.
type Earlier struct {
	At   string `json:"at"`
	ID   string `json:"id,omitempty"`
	What string `json:"what"`
}

// mostEarlier is how many earlier calls are listed.
const mostEarlier = 10

// NoCallError says that a recording has no call of an id.
type NoCallError struct {
	ID    string
	Calls int
}

// Error implements error.
func (e *NoCallError) Error() string {
	return fmt.Sprintf("there is no call %s among the %d calls of the recording", e.ID, e.Calls)
}

// NoPolicyError says that no policy decides a call.
type NoPolicyError struct{ ID string }

// Error implements error.
func (e *NoPolicyError) Error() string {
	return fmt.Sprintf("no policy decides the call %s: it matches no route with a policy", e.ID)
}

// Find returns the index of the call of an id, which may be written without its quotes, or
// of the request that has it as X-Request-Id. Of several it is the last one.
func (r *Recording) Find(id string) (int, error) {
	for i := len(r.Calls) - 1; i >= 0; i-- {
		if c := &r.Calls[i]; c.ID == id || c.Name() == id {
			return i, nil
		}
	}
	for i := len(r.Calls) - 1; i >= 0; i-- {
		if r.Calls[i].Event.Lookup(requestID) == id {
			return i, nil
		}
	}
	return 0, &NoCallError{id, len(r.Calls)}
}

// observer follows a call through a run.
type observer struct {
	recording *Recording
	target    int
	story     *Story
	before    []string
	machine   *Machine
	plan      *pipeline.Plan // under which the call began
	over      bool
	admits    []happened
	votes     []happened
	changes   []happened
	ended     map[int]bool
	refusal   *decision.Decision
}

// happened is something that was decided about a call.
type happened struct {
	at   clock.Mark
	by   *Machine // of the policy that decided
	call int      // -1 for none
	what string
	step int
	key  uint32
}

// Explain decides a recording as it was and tells the story of a call. The run has its
// recording, its deciders and its seed.
func Explain(r *Run, target int) (*Story, error) {
	c := &r.Recording.Calls[target]
	o := &observer{recording: r.Recording, target: target, ended: map[int]bool{}, story: &Story{
		ID: c.Name(), At: time.Duration(c.Event.At).String(), Key: c.Event.Key, Cost: c.Event.Cost, Attributes: c.Event.Attributes, Moments: []Moment{},
	}}
	// What a trace says happened at its marks; of an access log only the beginnings are known.
	r.Verbatim = r.Recording.Format == Trace || r.Recording.Format == Events
	r.Configured, r.watch = true, o.watch
	result, err := r.Do()
	switch {
	case err != nil:
		return nil, err
	case result.policies[target] == "":
		return nil, &NoPolicyError{c.Name()}
	}
	o.story.Policy = result.policies[target]
	verdict := result.verdicts[target]
	o.story.Verdict = verdict.String()
	was := c.Was
	differs := was.Known && was.String() != verdict.String()
	if !r.Verbatim {
		// An access log has statuses and no steps, and only the log of sluice serve is of a policy.
		differs = c.Policy != "" && was.Refused != verdict.Refused
	}
	if differs {
		o.story.Recorded = was.String()
	}
	if o.refusal != nil {
		o.remedy()
	}
	return o.story, nil
}

// watch watches the run.
func (o *observer) watch(g *group, isBefore bool, call int, list []decision.Decision) {
	if o.over {
		return
	}
	c := &o.recording.Calls[o.target]
	if isBefore {
		o.before = nil
		if _, live := g.handles[o.target]; live || call == o.target {
			if o.machine == nil {
				o.machine = g.owners[o.target]
				o.plan = o.machine.Driver.Plan()
			}
			o.before = o.machine.states(o.plan, c)
		}
		return
	}
	var own []*decision.Decision
	for i := range list {
		d := &list[i]
		at := g.callOf(d)
		if at == o.target {
			own = append(own, d)
			continue
		}
		o.note(g, d, at)
	}
	if len(own) == 0 {
		return
	}
	if o.before == nil {
		o.before = make([]string, o.plan.Len())
	}
	// Several marks may have passed at once.
	for len(own) > 0 {
		n := 1
		for n < len(own) && own[n].At == own[0].At {
			n++
		}
		o.moment(own[:n])
		own = own[n:]
	}
}

// note keeps what a decision about another call may have led to.
func (o *observer) note(g *group, d *decision.Decision, call int) {
	if d.Shadow {
		return
	}
	m := g.members[d.Policy] // of a change
	if call >= 0 {
		m = g.owners[call]
	}
	add := func(list *[]happened, what string) {
		*list = append(*list, happened{at: d.At, by: m, call: call, what: what, step: d.Index, key: d.Call.Slot()})
	}
	switch d.Kind {
	case decision.Admit:
		add(&o.admits, "admitted")
	case decision.Change:
		add(&o.changes, breaker.Mode(d.Mode).String())
	case decision.Retry, decision.Failed:
		if d.Reason == reducer.ReasonFail || d.Reason == reducer.ReasonTimeout {
			add(&o.votes, "attempt "+strconv.Itoa(int(d.Attempt))+" failed ("+d.Reason.String()+")")
		}
	case decision.End:
		if d.Outcome == reducer.Fail || d.Outcome == reducer.Timeout {
			add(&o.votes, "failed ("+d.Outcome.String()+")")
		}
	}
	if d.Last {
		o.ended[call] = true
	}
}

// moment tells what was decided about the call at one mark.
func (o *observer) moment(list []*decision.Decision) {
	c := &o.recording.Calls[o.target]
	plan := o.plan
	after := o.machine.states(plan, c)
	moment := Moment{At: time.Duration(list[0].At).String()}
	deciding, reached := -1, plan.Len()
	for _, d := range list {
		moment.Decisions = append(moment.Decisions, strings.TrimSpace(string(decision.AppendLine(nil, c.ID, d))))
		if d.Index >= 0 {
			deciding = d.Index
		}
		if (d.Kind == decision.Reject || d.Kind == decision.Wait) && !d.Shadow {
			reached = d.Index + 1
		}
		if (d.Kind == decision.Reject || d.Kind == decision.Expire) && !d.Shadow {
			x := *d
			o.refusal = &x
			o.because(&x)
		}
		o.over = o.over || d.Last
	}
	for i := range plan.Len() {
		s := StepState{Step: plan.StepName(i), Mechanism: plan.Step(i).Kind().String(), Decides: i == deciding}
		if i < len(o.before) && o.before[i] != "" {
			s.Before, s.After = o.before[i], after[i]
		}
		if i >= reached {
			s.Before, s.After = "not reached", ""
		}
		moment.Steps = append(moment.Steps, s)
	}
	o.story.Moments = append(o.story.Moments, moment)
}

// because finds what earlier calls of the same key did at the step that refuses, calls of other
// policies included where they share it.
func (o *observer) because(d *decision.Decision) {
	if d.Index < 0 {
		return
	}
	m := o.machine
	step := o.plan.Step(d.Index)
	key, _ := keyed.Join(step.Per, o.recording.Calls[o.target].Event.Lookup)
	same := func(h happened) bool {
		if h.by != m && !h.by.uses(&step) {
			return false
		}
		if h.call < 0 || len(step.Per) == 0 {
			return true
		}
		other, _ := keyed.Join(step.Per, o.recording.Calls[h.call].Event.Lookup)
		return other == key
	}
	of := ""
	if len(step.Per) > 0 {
		of = " for " + strings.Join(step.Per, ", ") + " = " + strconv.Quote(key)
	}
	var list []happened
	switch traits := mechanisms.Row(step.Kind()).Traits; {
	case traits.Has(mechanism.Modes):
		o.story.Because = "these outcomes and changes of " + d.Step + of + " came before"
		for _, h := range o.votes {
			if same(h) {
				list = append(list, h)
			}
		}
		active := m.Driver.Plan()
		keys, _ := m.keys.Of(active, o.recording.Calls[o.target].Event.Lookup, m.Driver.Uses)
		for _, h := range o.changes {
			if j := o.plan.Match(d.Index, active); j >= 0 && h.by == m && h.step == j && h.key == keys[j] {
				h.what, h.call = d.Step+" is "+h.what, -1
				list = append(list, h)
			}
		}
		slices.SortStableFunc(list, func(a, b happened) int { return int(max(-1, min(1, a.at.Sub(b.at)))) })
	case traits.Has(mechanism.Holds):
		o.story.Because = "the places of " + d.Step + of + " were held by"
		for _, h := range o.admits {
			if same(h) && !o.ended[h.call] {
				h.what = "runs since then"
				list = append(list, h)
			}
		}
	case traits.Has(mechanism.Asks):
		o.story.Because = "the permits of " + d.Step + of + " went to"
		for _, h := range o.admits {
			if cost := o.recording.Calls[h.call].Event.Cost; same(h) && cost > 0 {
				h.what = "admitted, cost " + strconv.FormatUint(uint64(cost), 10)
				list = append(list, h)
			}
		}
	}
	slices.Reverse(list)
	if o.story.Omitted = max(0, len(list)-mostEarlier); o.story.Omitted > 0 {
		list = list[:mostEarlier]
	}
	for _, h := range list {
		e := Earlier{At: time.Duration(h.at).String(), What: h.what}
		if h.call >= 0 {
			e.ID = o.recording.Calls[h.call].Name()
		}
		o.story.Earlier = append(o.story.Earlier, e)
	}
	if len(list) == 0 {
		o.story.Because = ""
	}
}

// uses reports whether a policy shares the cells of a step of another one.
func (m *Machine) uses(step *pipeline.Step) bool {
	plan := m.Driver.Plan()
	for i := range plan.Len() {
		if step.Mechanism != "" && plan.Shares(i) == step.Mechanism && plan.Kind(i) == step.Kind() && slices.Equal(plan.Per(i), step.Per) {
			return true
		}
	}
	return false
}

// remedy says what would have admitted the call.
func (o *observer) remedy() {
	d := o.refusal
	switch {
	case d.Kind == decision.Reject && d.RetryAfter >= 0:
		at := time.Duration(d.At.Add(d.RetryAfter))
		o.story.Remedy = fmt.Sprintf("the same call %s later, at %s, if nothing else happened at %s", d.RetryAfter, at, d.Step)
	case d.Reason == reducer.ReasonCapacity:
		o.story.Remedy = fmt.Sprintf("no wait: its cost %d is above what %s can ever admit; a lower cost, or a higher limit", o.story.Cost, d.Step)
	case d.Reason == reducer.ReasonDenied:
		o.story.Remedy = "other attributes: the policy denies these, whatever happens"
	case d.Reason == reducer.ReasonMissing:
		o.story.Remedy = "a value for each attribute of the setting per of " + d.Step
	case d.Reason == reducer.ReasonFull:
		o.story.Remedy = "a place of " + d.Step + ", as soon as one of these calls ends, or a longer queue"
	case d.Reason == reducer.ReasonWait:
		o.story.Remedy = "a place of " + d.Step + " before the end of its wait"
	default:
		o.story.Remedy = "it depends on other calls when " + d.Step + " admits again"
	}
}

// Print writes the story for people.
func (s *Story) Print(w io.Writer) error {
	fmt.Fprintf(w, "call %s", s.ID)
	if s.Policy != "" {
		fmt.Fprintf(w, " of policy %s", s.Policy)
	}
	fmt.Fprintf(w, " at %s", s.At)
	if s.Key != "" {
		fmt.Fprintf(w, ", key %s", printable(s.Key))
	}
	if s.Cost != 1 {
		fmt.Fprintf(w, ", cost %d", s.Cost)
	}
	for _, name := range sortedNames(s.Attributes) {
		fmt.Fprintf(w, ", %s %s", printable(name), printable(s.Attributes[name]))
	}
	fmt.Fprintf(w, ": %s\n", s.Verdict)
	if s.Recorded != "" {
		fmt.Fprintf(w, "The recording says: %s. The steps had a state then that the recording does not have,\nor other calls ran at the same time.\n", s.Recorded)
	}
	for _, m := range s.Moments {
		fmt.Fprintf(w, "\nat %s\n", m.At)
		for _, d := range m.Decisions {
			fmt.Fprintf(w, "  %s\n", d)
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprint(t, "  step\tmechanism\tbefore\tafter\n")
		for _, step := range m.Steps {
			name := step.Step
			if step.Decides {
				name += " *"
			}
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", name, step.Mechanism, dash(step.Before), dash(step.After))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if s.Because != "" {
		fmt.Fprintf(w, "\nWhat led there: %s\n", s.Because)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, e := range s.Earlier {
			who := ""
			if e.ID != "" {
				who = "call " + e.ID
			}
			fmt.Fprintf(t, "  %s\t%s\t%s\n", e.At, who, e.What)
		}
		if err := t.Flush(); err != nil {
			return err
		}
		if s.Omitted > 0 {
			fmt.Fprintf(w, "  and %d earlier ones\n", s.Omitted)
		}
	}
	if s.Remedy != "" {
		fmt.Fprintf(w, "\nWhat would have admitted it: %s.\n", s.Remedy)
	}
	return nil
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func sortedNames(all map[string]string) []string {
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
