package document

import (
	"slices"
	"strconv"

	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/policy/tree"
)

const (
	// mechanisms are what a step may be, in the order of pipeline.Kind.
	mechanisms = "timeout retry breaker limit bulkhead hedge"
	// later are mechanisms that other versions of Sluice may have.
	later = "shed queue cache adaptive throttle"
	// common are the settings that every mechanism has, behind its own.
	common = " name shadow per keys when_full missing scope"
)

// nameText is what every error about a name allows.
const nameText = "a name of lower-case letters, digits and hyphens that begins with a letter or a digit"

// steps reads the steps of a policy and gives those without a name their
// mechanism's, numbered from the second one of the mechanism on.
func (r *reader) steps(n *tree.Node, one *Policy) {
	if n.Kind != tree.List || len(n.Items) == 0 {
		r.mistyped(n, "a list of steps, one or more")
		return
	}
	r.atMost(pipeline.MaxSteps, n, "$x steps")
	steps, extras := make([]pipeline.Step, len(n.Items)), make([]Extra, len(n.Items))
	one.Steps, one.Extras = steps, extras
	var count [mechanism.Kinds]int
	retry, hedge := 0, -1
	for i, item := range n.Items {
		s, extra := &steps[i], &extras[i]
		r.step(item, s, extra, one)
		if s.Kind() == 0 {
			continue
		}
		e := item.Items[0]
		count[s.Kind()]++
		switch {
		case s.Kind() == pipeline.Retry && count[s.Kind()] > 1:
			r.failKey(e, "a second retry", "one retry in a policy; the first is steps[$x]").x = retry
		case s.Kind() == pipeline.Retry:
			retry = i
			if hedge >= 0 {
				r.failKey(e, "a retry below the hedge", "a retry above the hedge, which is steps[$x]").x = hedge
			}
		case s.Kind() == pipeline.Hedge && count[s.Kind()] > 1:
			r.failKey(e, "a second hedge", "one hedge in a policy; the first is steps[$x]").x = hedge
		case s.Kind() == pipeline.Hedge:
			hedge = i
		}
		if !extra.Named {
			s.Name = e.Key
			if count[s.Kind()] > 1 {
				s.Name += "-" + strconv.Itoa(count[s.Kind()])
			}
		}
		r.nameOnce(e, s.Name, steps[:i])
	}
}

// nameOnce reports the entry of a step whose name one before it has. Past the
// greatest number of steps the policy is refused anyway, and to look at all of
// them would take long.
func (r *reader) nameOnce(e *tree.Node, name string, before []pipeline.Step) {
	for i := range before[:min(len(before), pipeline.MaxSteps)] {
		if name != "" && before[i].Name == name {
			p := r.failKey(e, "a second step of the name $w", "names that differ; the first is steps[$x]")
			p.x, p.word = i, quote(name)
			return
		}
	}
}

// step reads a map of one entry, mechanism to settings. Its kind stays 0 when
// it is none.
func (r *reader) step(n *tree.Node, s *pipeline.Step, extra *Extra, one *Policy) {
	const allowed = "a step: a map of one entry, mechanism to settings"
	switch {
	case n.Kind == tree.Map && slices.ContainsFunc(n.Items, isTorn):
		return
	case n.Kind == tree.Map && len(n.Items) > 1:
		r.fail(n, "a map of $x entries", allowed+"; name, shadow, per and scope stand inside the settings").x = len(n.Items)
		return
	case n.Kind == tree.Text && index(mechanisms, n.Text) >= 0:
		p := r.mistyped(n, allowed)
		p.near, p.word, p.hint = "{$w: {...}}", n.Text, filled
		return
	case n.Kind != tree.Map || len(n.Items) == 0:
		r.mistyped(n, allowed)
		return
	}
	e := n.Items[0]
	extra.Line, extra.Column = e.KeyLine, e.KeyColumn
	var f fields
	without := ""
	switch pipeline.Kind(index(mechanisms, e.Key) + 1) {
	case pipeline.Timeout:
		var c timeout.Config
		r.timeout(&f, e, &c)
		s.Config = c
		without = "$t on a timeout, which keeps no state"
	case pipeline.Retry:
		var c retry.Config
		r.retry(&f, e, &c)
		s.Config = c
		if !c.Budgeted {
			without = "$t on a retry without a budget, which keeps no state"
		}
		one.Methods = f.httpMethods()
	case pipeline.Breaker:
		var c breaker.Config
		r.breaker(&f, e, &c)
		s.Config = c
	case pipeline.Limit:
		var c limiter.Config
		r.limit(&f, e, &c)
		s.Config = c
	case pipeline.Bulkhead:
		var c bulkhead.Config
		r.bulkhead(&f, e, &c)
		s.Config = c
	case pipeline.Hedge:
		var c hedge.Config
		r.hedge(&f, e, &c)
		s.Config = c
		if !c.Budgeted && c.Percentile == 0 {
			without = "$t on a hedge without a percentile or a budget, which keeps no state"
		}
		one.HedgeMethods = f.httpMethods()
	default:
		if index(later, e.Key) >= 0 {
			r.failKey(e, "the mechanism $q, which this version does not have", "$l").word = mechanisms
		} else {
			r.unknown(e, mechanisms)
		}
	}
	if f.node != nil {
		f.common(s, extra, without)
	}
}

// common reads the settings that every mechanism has. A step that keeps no state
// has no cells, which per and its like concern; without says why, "" for one
// that has.
func (f *fields) common(s *pipeline.Step, extra *Extra, without string) {
	if n := f.get("name"); n != nil {
		extra.Named = true
		f.stepName(n, &s.Name)
	}
	if n := f.get("shadow"); n != nil {
		s.Shadow = f.asBool(n)
	}
	if without != "" {
		const allowed = "$t only on a limit, a breaker, a bulkhead, a retry with a budget, or a hedge with a percentile or a budget"
		for _, name := range [...]string{"per", "keys", "when_full", "missing", "scope"} {
			f.refuse(name, without, allowed, "")
		}
		return
	}
	if n := f.get("per"); n != nil {
		s.Per = f.per(n)
		f.keyed(s)
	} else if !f.meant[index(f.known, "per")] {
		for _, name := range [...]string{"keys", "when_full", "missing"} {
			f.refuse(name, "$t without per", "$t beside per", "")
		}
	}
	if n := f.get("scope"); n != nil {
		f.scope(n)
	}
}

// keyed reads what concerns the cells of many keys.
func (f *fields) keyed(s *pipeline.Step) {
	f.integer("keys", 1, pipeline.MaxKeys, &s.Keys)
	if n := f.get("when_full"); n != nil {
		s.WhenFull = pipeline.WhenFull(max(f.asWord(n, "evict share"), 0))
	}
	if n := f.get("missing"); n != nil {
		s.Missing = pipeline.Missing(max(f.asWord(n, "share deny skip"), 0))
	}
}

// stepName reads the name of a step.
func (r *reader) stepName(n *tree.Node, into *string) {
	if !r.isText(n, nameText) {
		return
	}
	*into = n.Text
	switch {
	case n.Text == pipeline.Deadline:
		r.fail(n, "the reserved name $q", "any other name; "+pipeline.Deadline+" is what a caller brings along")
	case !validName(n.Text):
		r.fail(n, "the name $q", nameText).hint = hyphenated
	}
}

// validName reports whether a name is [a-z0-9][a-z0-9-]*.
func validName(name string) bool { return isMadeOf(name, "-") && name[0] != '-' }

// scope reads how far a step's cells reach; Local is all that there is.
func (r *reader) scope(n *tree.Node) {
	if n.Kind == tree.Text && n.Text == "shared" {
		r.mistyped(n, "local; shared needs a store, which this version does not have")
		return
	}
	r.asWord(n, "local")
}
