package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/reducer"
)

// Effect is the effect of a change on the calls that pass and on the load of the
// dependency.
type Effect = mechanism.Effect

// The effects, as in core/mechanism.
const (
	Other   = mechanism.Other
	Looser  = mechanism.Looser
	Tighter = mechanism.Tighter
)

// Change is one difference between two documents.
type Change struct {
	Effect Effect `json:"effect"`
	// Policy that changes, empty for the routes and the section http.
	Policy string `json:"policy"`
	// Step that changes, empty for what concerns the policy.
	Step string `json:"step"`
	// Per are the attributes by whose values the step counts: the callers that the
	// change concerns.
	Per []string `json:"per"`
	// Setting that changes; "step" for a step and "policy" for a policy that is added
	// or removed, "order" for the order, "guarantee: " and its name for a guarantee.
	Setting string `json:"setting"`
	// From and To are the values, empty for a value that does not exist.
	From string `json:"from"`
	To   string `json:"to"`
}

// Compare returns the changes from one document to another: the settings of each
// policy in the order of the new document, its guarantees, then the routes and the
// section http.
func Compare(before, after *document.Document) []Change {
	c := &comparison{changes: []Change{}}
	for i := range after.Policies {
		p := &after.Policies[i]
		if old := before.Lookup(p.Name); old != nil {
			c.policies(old, p)
		} else {
			c.add(Change{Policy: p.Name, Setting: "policy", To: stepNames(p)})
		}
	}
	for i := range before.Policies {
		if p := &before.Policies[i]; after.Lookup(p.Name) == nil {
			c.add(Change{Policy: p.Name, Setting: "policy", From: stepNames(p)})
		}
	}
	c.routes(before, after)
	c.http("http.", &before.HTTP, &after.HTTP)
	c.value(unmatchedEffect(&before.HTTP, &after.HTTP), "http.default", unmatchedText(&before.HTTP), unmatchedText(&after.HTTP))
	return c.changes
}

// comparison collects changes of a policy and a step.
type comparison struct {
	changes []Change
	policy  string
	step    string
	per     []string
}

// add adds a change of the policy and the step under comparison.
func (c *comparison) add(change Change) {
	if change.Policy == "" {
		change.Policy, change.Step = c.policy, c.step
	}
	change.Per = orEmpty(c.per)
	c.changes = append(c.changes, change)
}

// value adds a change unless both texts are the same.
func (c *comparison) value(effect Effect, setting, from, to string) {
	if from != to {
		c.add(Change{Effect: effect, Setting: setting, From: from, To: to})
	}
}

// policies compares two policies of a name.
func (c *comparison) policies(before, after *document.Policy) {
	c.policy = after.Name
	old := func(name string, kind pipeline.Kind) int {
		return slices.IndexFunc(before.Steps, func(s pipeline.Step) bool { return s.Name == name && s.Kind() == kind })
	}
	var order []int
	for i := range after.Steps {
		s := &after.Steps[i]
		c.step, c.per = s.Name, s.Per
		j := old(s.Name, s.Kind())
		if j < 0 {
			c.add(Change{Effect: presence(s), Setting: "step", To: newAnalysis(after).settings(i)})
			continue
		}
		order = append(order, j)
		c.steps(before, j, after, i)
	}
	for j := range before.Steps {
		s := &before.Steps[j]
		if !slices.Contains(order, j) {
			c.step, c.per = s.Name, s.Per
			c.add(Change{Effect: presence(s).Inverse(), Setting: "step", From: newAnalysis(before).settings(j)})
		}
	}
	c.step, c.per = "", nil
	if !slices.IsSorted(order) {
		c.add(Change{Setting: "order", From: stepNames(before), To: stepNames(after)})
	}
	c.value(Other, "allow", before.Allow.String(), after.Allow.String())
	c.value(Other, "deny", before.Deny.String(), after.Deny.String())
	c.value(Other, "fallback", fallbackText(before), fallbackText(after))
	c.value(Other, "outcomes", outcomesText(before), outcomesText(after))
	c.guarantees(before, after)
	c.policy = ""
}

// presence is the effect of a step that is added.
func presence(s *pipeline.Step) Effect {
	row := newAnalysis(&document.Policy{Policy: pipeline.Policy{Steps: []pipeline.Step{*s}}}).rows[0]
	switch {
	case s.Shadow:
		return Other
	case row.Traits&(mechanism.Repeats|mechanism.Hedges) != 0:
		return Looser
	}
	return Tighter
}

func stepNames(p *document.Policy) string {
	names := make([]string, len(p.Steps))
	for i := range p.Steps {
		names[i] = p.Steps[i].Name
	}
	return strings.Join(names, ", ")
}

func fallbackText(p *document.Policy) string {
	if p.Fallback == nil {
		return ""
	}
	return strconv.Itoa(p.Fallback.Status) + " " + strconv.Quote(p.Fallback.Body)
}

func outcomesText(p *document.Policy) string {
	o := p.Outcomes
	return fmt.Sprintf("fail %s, throttle %s, ignore %s", list(o.Fail), list(o.Throttle), list(o.Ignore))
}

// steps compares two steps of a name and a mechanism.
func (c *comparison) steps(before *document.Policy, j int, after *document.Policy, i int) {
	old, s := &before.Steps[j], &after.Steps[i]
	was, is := valuesOf(before, j), valuesOf(after, i)
	for k := range is {
		if was[k].Text != is[k].Text {
			c.value(is[k].effectOf(&was[k]), is[k].name, was[k].Text, is[k].Text)
		}
	}
	shadow := Tighter
	if s.Shadow {
		shadow = Looser
	}
	c.value(sharing(old, s), "mechanism", old.Mechanism, s.Mechanism)
	c.value(shadow, "shadow", strconv.FormatBool(old.Shadow), strconv.FormatBool(s.Shadow))
	c.value(Other, "when", old.When.String(), s.When.String())
	enforce := Tighter
	if share(s).Compare(share(old)) < 0 {
		enforce = Looser
	}
	c.value(enforce, "enforce", shareText(old), shareText(s))
	c.value(partition(old.Per, s.Per), "per", strings.Join(old.Per, ", "), strings.Join(s.Per, ", "))
	c.value(Other, "keys", keysText(old), keysText(s))
	c.value(Other, "when_full", fullText(old), fullText(s))
	missing := Tighter
	switch {
	case s.Missing.Denies() && old.Missing.Denies():
		missing = Other
	case s.Missing == pipeline.MissingSkip || old.Missing.Denies():
		missing = Looser
	}
	c.value(missing, "missing", missingText(old), missingText(s))
}

// share returns the share of the calls that a step enforces for.
func share(s *pipeline.Step) reducer.Share {
	if s.Enforce.Partial() {
		return s.Enforce.Of
	}
	return reducer.Percent(100)
}

func shareText(s *pipeline.Step) string {
	text := share(s).String()
	if s.Enforce.Partial() && s.Enforce.By != "" {
		text += " by " + s.Enforce.By
	}
	return text
}

// sharing is the effect of another mechanism: one that other policies use, too, lets fewer
// calls of each of them pass.
func sharing(old, s *pipeline.Step) Effect {
	switch row := mechanisms.Row(s.Kind()); {
	case row.Stateless != nil && row.Stateless(s.Config) != "":
	case old.Mechanism == "":
		return Tighter
	case s.Mechanism == "":
		return Looser
	}
	return Other
}

// partition is the effect of other attributes: cells that each serve fewer calls let
// more pass in total.
func partition(before, after []string) Effect {
	switch {
	case within(before, after):
		return Looser
	case within(after, before):
		return Tighter
	}
	return Other
}

func keysText(s *pipeline.Step) string {
	if s.Keys == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(s.Keys), 10)
}

func fullText(s *pipeline.Step) string { return [...]string{"evict", "share"}[s.WhenFull] }

func missingText(s *pipeline.Step) string { return s.Missing.String() }

// routes compares the routes, which are identified by what they match.
func (c *comparison) routes(before, after *document.Document) {
	old := map[string]int{}
	for i := len(before.Routes) - 1; i >= 0; i-- {
		old[routeText(&before.Routes[i])] = i // the first one counts
	}
	kept := map[int]bool{}
	last, sorted := -1, true
	seen := map[string]bool{}
	for i := range after.Routes {
		r := &after.Routes[i]
		text := routeText(r)
		if seen[text] {
			continue
		}
		seen[text] = true
		j, there := old[text]
		if !there {
			c.add(Change{Setting: "route " + text, To: policyText(r)})
			continue
		}
		kept[j] = true
		sorted = sorted && j > last
		last = max(last, j)
		c.value(Other, "route "+text, policyText(&before.Routes[j]), policyText(r))
		if before.Routes[j].HTTP != before.HTTP || r.HTTP != after.HTTP {
			c.http("route "+text+" http.", &before.Routes[j].HTTP, &r.HTTP)
		}
	}
	for i := range before.Routes {
		r := &before.Routes[i]
		if text := routeText(r); old[text] == i && !kept[i] {
			c.add(Change{Setting: "route " + text, From: policyText(r)})
		}
	}
	if !sorted {
		c.add(Change{Setting: "order of routes", From: "", To: "another route is the first match of some requests"})
	}
}

// http compares the settings for HTTP.
func (c *comparison) http(prefix string, before, after *document.HTTP) {
	c.duration(prefix+"body.timeout", before.BodyTimeout, after.BodyTimeout)
	// A greater least rate is tighter, and none is the least.
	rate := Looser
	if faster(after.BodyRate, before.BodyRate) {
		rate = Tighter
	}
	c.value(rate, prefix+"body.min_rate", byteRate(before.BodyRate), byteRate(after.BodyRate))
	c.duration(prefix+"stream_idle", before.StreamIdle, after.StreamIdle)
	c.duration(prefix+"lifetime", before.Lifetime, after.Lifetime)
	paths := Looser
	if before.Paths == document.PathsExactBytes || after.Paths == document.PathsStrict {
		paths = Tighter
	}
	c.value(paths, prefix+"paths", before.Paths.String(), after.Paths.String())
}

// duration compares two times of which 0 means no bound.
func (c *comparison) duration(setting string, before, after time.Duration) {
	text := func(d time.Duration) string {
		if d == 0 {
			return "none"
		}
		return Duration(d).String()
	}
	effect := Tighter
	if after == 0 || before != 0 && after > before {
		effect = Looser
	}
	c.value(effect, setting, text(before), text(after))
}

func faster(a, b document.ByteRate) bool {
	switch {
	case a.Bytes == 0:
		return false
	case b.Bytes == 0:
		return true
	}
	return compareRates(a.Bytes, a.Period, b.Bytes, b.Period) > 0
}

func byteRate(r document.ByteRate) string {
	if r.Bytes == 0 {
		return "none"
	}
	return fmt.Sprintf("%dB/%s", r.Bytes, Duration(r.Period))
}

// unmatchedText describes the answer to a request that no route matches.
func unmatchedText(h *document.HTTP) string {
	switch h.Unmatched {
	case document.UnmatchedDeny:
		return "deny"
	case document.UnmatchedPolicy:
		return h.Default
	}
	return "pass"
}

// unmatchedEffect: pass is the loosest, deny the tightest.
func unmatchedEffect(before, after *document.HTTP) Effect {
	rank := [...]int{document.UnmatchedPass: 2, document.UnmatchedPolicy: 1, document.UnmatchedDeny: 0}
	switch was, is := rank[before.Unmatched], rank[after.Unmatched]; {
	case is > was:
		return Looser
	case is < was:
		return Tighter
	}
	return Other
}

// guarantees compares the bounds that follow from two policies.
func (c *comparison) guarantees(before, after *document.Policy) {
	was, is := newAnalysis(before), newAnalysis(after)
	old, now := was.guarantees(), is.guarantees()
	var scopes [][]string
	for _, row := range slices.Concat(now.Requests.Started, old.Requests.Started) {
		if !slices.ContainsFunc(scopes, func(other []string) bool { return slices.Equal(other, row.Per) }) {
			scopes = append(scopes, row.Per)
		}
	}
	for _, set := range scopes {
		for _, window := range []time.Duration{time.Second, time.Minute, time.Hour} {
			c.bound("requests in any "+Duration(window).String()+whomText(set), countBound(was.started(set, window)), countBound(is.started(set, window)))
		}
	}
	for _, row := range slices.Concat(now.Concurrent, old.Concurrent) {
		most := func(list []Concurrent) bound {
			for i := range list {
				if list[i].Step == row.Step && list[i].Most != nil {
					return countBound(*list[i].Most)
				}
			}
			return countBound(none)
		}
		c.bound("at once by "+row.Step, most(old.Concurrent), most(now.Concurrent))
	}
	c.bound("attempts of a call", countBound(uint64(old.Attempts.Most)), countBound(uint64(now.Attempts.Most)))
	c.bound("wait before an attempt", timeBound(old.WaitBeforeAttempt), timeBound(now.WaitBeforeAttempt))
	c.bound("waits of a call", timeBound(old.WaitInAll), timeBound(now.WaitInAll))
	c.bound("call held", timeBound(old.Held), timeBound(now.Held))
}

// bound compares two bounds of a name, once.
func (c *comparison) bound(name string, before, after bound) {
	name = "guarantee: " + name
	if slices.ContainsFunc(c.changes, func(other Change) bool { return other.Policy == c.policy && other.Setting == name }) {
		return
	}
	effect := Tighter
	if after.most > before.most {
		effect = Looser
	}
	c.value(effect, name, before.text, after.text)
}

// unbounded is the text of a bound that does not exist.
const unbounded = "no bound"

// bound is an upper bound; none for no bound.
type bound struct {
	most uint64
	text string
}

func countBound(most uint64) bound {
	if most == none {
		return bound{none, unbounded}
	}
	return bound{most, strconv.FormatUint(most, 10)}
}

func timeBound(t Time) bound {
	if t.Longest == nil || t.RetryAfter {
		return bound{none, unbounded}
	}
	return bound{uint64(*t.Longest), t.Longest.String()}
}

func whomText(per []string) string {
	if len(per) == 0 {
		return ""
	}
	return " for each " + strings.Join(per, " and ")
}
