package document

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy/tree"
)

// mechanisms are what a step may be, in the order in which errors list them.
var mechanisms = []pipeline.Kind{
	pipeline.Timeout, pipeline.Retry, pipeline.Breaker, pipeline.Limit, pipeline.Bulkhead,
}

// later are mechanisms that other versions of Sluice may have.
var later = []string{"shed", "queue", "hedge", "cache", "adaptive", "throttle"}

// nameText is what every error about a name allows.
const nameText = "a name of lower-case letters, digits and hyphens that begins with a letter or a digit"

// steps reads the steps of a policy and gives them their names.
func (p place) steps(one *Policy) {
	const allowed = "a list of steps, one or more"
	if p.node.Kind != tree.List || len(p.node.Items) == 0 {
		p.mistyped(allowed)
		return
	}
	if n := len(p.node.Items); n > pipeline.MaxSteps {
		p.fail(strconv.Itoa(n)+" steps", "at most "+strconv.Itoa(pipeline.MaxSteps), "")
	}
	retry := -1
	for i := range p.node.Items {
		s := p.item(i).step(one)
		one.Steps = append(one.Steps, s.Step)
		one.Extras = append(one.Extras, s.Extra)
		if s.Kind != pipeline.Retry {
			continue
		}
		if retry >= 0 {
			p.failAt(s.Line, s.Column, JoinPath(p.item(i).path, "retry"), "a second retry", "one retry in a policy; the first is steps["+strconv.Itoa(retry)+"]", "")
			continue
		}
		retry = i
	}
	p.nameSteps(one)
}

// step is a step as it is read.
type step struct {
	pipeline.Step
	Extra
}

// step reads a map of one entry, mechanism to settings. Its kind stays 0 when
// it is none.
func (p place) step(one *Policy) step {
	const allowed = "a step: a map of one entry, mechanism to settings"
	var s step
	if p.node.Kind != tree.Map || len(p.node.Entries) != 1 || isTorn(&p.node.Entries[0]) {
		switch {
		case slices.ContainsFunc(p.node.Entries, func(e tree.Entry) bool { return isTorn(&e) }):
		case p.node.Kind == tree.Map && len(p.node.Entries) > 1:
			p.fail("a map of "+strconv.Itoa(len(p.node.Entries))+" entries", allowed+"; name, shadow, per and scope stand inside the settings", "")
		case p.node.Kind == tree.Text && kindOf(p.node.Text) != 0:
			p.fail(describe(p.node), allowed, "{"+p.node.Text+": {...}}")
		default:
			p.mistyped(allowed)
		}
		return s
	}
	e := &p.node.Entries[0]
	s.Line, s.Column = e.Line, e.Column
	settings := place{p.report, e.Value, JoinPath(p.path, e.Key)}
	s.Kind = kindOf(e.Key)
	switch s.Kind {
	case pipeline.Timeout:
		s.Timeout = settings.timeout(&s)
	case pipeline.Retry:
		s.Retry = settings.retry(&s, one)
	case pipeline.Breaker:
		s.Breaker = settings.breaker(&s)
	case pipeline.Limit:
		s.Limit = settings.limit(&s)
	case pipeline.Bulkhead:
		s.Bulkhead = settings.bulkhead(&s)
	default:
		p.unknownMechanism(e, settings.path)
	}
	return s
}

// unknownMechanism reports an entry whose name is no mechanism of this version.
func (p place) unknownMechanism(e *tree.Entry, path string) {
	known := make([]string, len(mechanisms))
	for i, k := range mechanisms {
		known[i] = k.String()
	}
	if slices.Contains(later, e.Key) {
		p.failAt(e.Line, e.Column, path, "the mechanism "+quote(e.Key)+", which this version does not have", orList(known), "")
		return
	}
	p.unknown(e, path, known)
}

// kindOf returns the mechanism of a name, 0 for none.
func kindOf(name string) pipeline.Kind {
	for _, k := range mechanisms {
		if k.String() == name {
			return k
		}
	}
	return 0
}

// common names the settings that every mechanism has.
func common(own ...string) []string { return append(own, "name", "shadow", "per", "scope") }

// common reads them. Cells says whether the step keeps a state that per and
// scope could speak of; without says why not.
func (f *fields) common(s *step, cells bool, without string) {
	if v, ok := f.get("name"); ok {
		s.Name, s.Named = v.name(), true
	}
	if v, ok := f.get("shadow"); ok {
		s.Shadow = v.boolean()
	}
	if !cells {
		f.refuse(without, "only on a limit, a breaker, a bulkhead, or a retry with a budget", "per", "scope")
		return
	}
	if v, ok := f.get("per"); ok {
		s.Per = v.per()
	}
	if v, ok := f.get("scope"); ok {
		v.scope()
	}
}

// name reads the name of a step.
func (p place) name() string {
	name, ok := p.text(nameText)
	switch {
	case !ok:
	case name == pipeline.Deadline:
		p.fail("the reserved name "+quote(name), "any other name; "+pipeline.Deadline+" is what a caller brings along", "")
	case !validName(name):
		p.fail("the name "+quote(name), nameText, nearestName(name))
	}
	return name
}

// validName reports whether a name is [a-z0-9][a-z0-9-]*.
func validName(name string) bool {
	return name != "" && name[0] != '-' && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z')
	})
}

// nearestName returns the name in lower case with hyphens, when that makes it
// valid, else "".
func nearestName(name string) string {
	near := strings.NewReplacer(" ", "-", "_", "-", ".", "-").Replace(strings.ToLower(name))
	if len(near) > longestName || !validName(near) {
		return ""
	}
	return near
}

// scope reads how far a step's cells reach; Local is all that there is.
func (p place) scope() {
	if p.node.Kind == tree.Text && p.node.Text == "shared" {
		p.fail(describe(p.node), "local; shared needs a store, which this version does not have", "")
		return
	}
	p.word("local")
}

// nameSteps gives each step without a name its mechanism's, numbered from the
// second one of the mechanism on, and reports two of one name.
func (p place) nameSteps(one *Policy) {
	var count [pipeline.Bulkhead + 1]int
	first := map[string]int{}
	for i := range one.Steps {
		s := &one.Steps[i]
		if s.Kind == 0 {
			continue
		}
		count[s.Kind]++
		if !one.Extras[i].Named {
			s.Name = s.Kind.String()
			if count[s.Kind] > 1 {
				s.Name += "-" + strconv.Itoa(count[s.Kind])
			}
		}
		j, double := first[s.Name]
		switch {
		case !double:
			first[s.Name] = i
		case s.Name != "":
			at := one.Extras[i]
			p.failAt(at.Line, at.Column, JoinPath(p.item(i).path, s.Kind.String()), "a second step of the name "+quote(s.Name), "names that differ; the first is steps["+strconv.Itoa(j)+"]", "")
		}
	}
}
