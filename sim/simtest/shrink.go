package simtest

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/policy/tree"
	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/engine"
)

const (
	// maxTries is the most scenarios that a failure runs to find a shorter one,
	// maxEvents the most events of all of them; events of a scenario of more events are
	// four times its own.
	maxTries  = 400
	maxEvents = 3_000_000
)

// shrinker looks for the scenario with the fewest events that fails in the same way.
// It changes the document: shorter, with less in it, at lower rates. It draws nothing,
// so that equal failures give equal scenarios.
type shrinker struct {
	runs    *Runs
	need    requirement
	kind    string
	seed    uint64
	tries   int
	budget  int // of events
	root    *tree.Node
	best    *run
	finding *finding
}

// shrink returns what fails in the same way as a run, at least the run itself.
func (r *Runs) shrink(q requirement, one *run, f *finding) *shrinker {
	s := &shrinker{
		runs: r, need: q, kind: f.kind, seed: one.result.Seed, root: r.scenario.root,
		best: one, finding: f, budget: max(maxEvents, 4*one.events),
	}
	if !r.recorded { // real code does not read the policies of the document
		s.simplify()
	}
	for {
		before := s.root
		if q.keeps < loadAndTime {
			s.shorten()
			s.skip()
		}
		s.drop()
		if q.keeps < load {
			s.lower()
		}
		if s.root == before || s.spent() {
			return s
		}
	}
}

func (s *shrinker) spent() bool { return s.tries >= maxTries || s.budget <= 0 }

// try runs a changed document and keeps it where it fails in the same way with no more
// events.
func (s *shrinker) try(root *tree.Node) bool {
	return s.accept(root, func(one *run) bool { return one.events <= s.best.events })
}

// accept runs a changed document and keeps it where it fails in the same way and is
// good.
func (s *shrinker) accept(root *tree.Node, good func(*run) bool) bool {
	if s.spent() {
		return false
	}
	changed := reread(root)
	if changed == nil {
		return false
	}
	s.tries++
	one, err := s.runs.once(changed, s.seed)
	s.budget -= one.events
	if err != nil || !good(one) {
		return false
	}
	f := s.need.check(s.runs.view(one))
	if f == nil || f.kind != s.kind {
		return false
	}
	s.root, s.best, s.finding = root, one, f
	return true
}

// simplify drops what does not matter from policies: the result stays the same without
// it. The rest of a policy stays, since a scenario that fails without the policy does
// not say what is wrong with it. It takes at most half of the budget.
func (s *shrinker) simplify() {
	want, rest := outcome(s.best.result), s.budget/2
	same := func(one *run) bool { return bytes.Equal(outcome(one.result), want) }
	for done := 0; s.budget > rest; {
		policies := child(s.root, "policies")
		if policies == nil {
			return
		}
		list := droppable(policies, nil)
		if done >= len(list) {
			return
		}
		if !s.accept(copyWithout(s.root, list[done]), same) {
			done++
		}
	}
}

// outcome returns a result as JSON without breakers that never opened.
func outcome(r *sim.Result) []byte {
	one := *r
	one.Clients = slices.Clone(r.Clients)
	for i := range one.Clients {
		c := &one.Clients[i]
		c.Breakers = slices.DeleteFunc(slices.Clone(c.Breakers), func(b engine.BreakerResult) bool { return b.Opened == 0 })
	}
	return one.AppendJSON(nil)
}

// shorten makes the duration shorter.
func (s *shrinker) shorten() {
	s.cut(func(by time.Duration) *tree.Node {
		return changed(s.root, func(n *tree.Node) bool { return n.Key == "duration" && n.Up.Up == nil }, by)
	})
}

// skip takes time from the begin of the scenario: faults and jumps come sooner, and a
// first phase of arrivals is shorter.
func (s *shrinker) skip() {
	s.cut(func(by time.Duration) *tree.Node {
		return changed(s.root, func(n *tree.Node) bool {
			switch n.Key {
			case "duration":
				return n.Up.Up == nil
			case "at":
				return true
			case "for":
				return n.Up.Up != nil && n.Up.Up.Key == "steps" && n.Up.Index == 0
			}
			return false
		}, by)
	})
}

// cut tries to take a half of the duration, then less and less.
func (s *shrinker) cut(by func(time.Duration) *tree.Node) {
	whole := s.best.scenario.Duration
	for step := rounded(whole / 2); step >= whole/64 && step > 0 && !s.spent(); {
		if root := by(step); root == nil || !s.try(root) {
			step = rounded(step / 2)
		}
	}
}

// changed returns a tree in which some durations are less, nil where one would not be
// above 0.
func changed(n *tree.Node, which func(*tree.Node) bool, by time.Duration) *tree.Node {
	one := &tree.Node{Kind: n.Kind, Text: n.Text, Key: n.Key}
	if n.Up != nil && len(n.Items) == 0 && which(n) {
		d, err := time.ParseDuration(n.Text)
		if err != nil || d <= by {
			return nil
		}
		one.Text = (d - by).String()
	}
	for _, item := range n.Items {
		below := item
		if item.Key != "policies" {
			below = changed(item, which, by)
		}
		if below == nil {
			return nil
		}
		one.Add(copyWithout(below, nil))
	}
	return one
}

// rounded cuts a duration off after about two digits, so that it is easy to read.
func rounded(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 100 {
		unit *= 10
	}
	return d / unit * unit
}

// drop drops what the failure does not need.
func (s *shrinker) drop() {
	for done := 0; !s.spent(); {
		list := droppable(s.root, nil)
		if done >= len(list) {
			return
		}
		if !s.try(copyWithout(s.root, list[done])) {
			done++
		}
	}
}

// droppable returns the parts of a tree that may be dropped, large ones first: without
// the seed and what policies decide. A fault stays as it is or goes, and so does a policy,
// which stays where a client or a service has it.
func droppable(n *tree.Node, found []*tree.Node) []*tree.Node {
	for _, item := range n.Items {
		switch {
		case n.Kind != tree.Map:
		case item.Key == "policies":
			found = append(found, item.Items...)
			continue
		case slices.Contains([]string{"version", "seed", "policy"}, item.Key):
			continue
		}
		found = append(found, item)
		if n.Key != "faults" {
			found = droppable(item, found)
		}
	}
	return found
}

// lower lowers the rates of arrivals, and counts of users and of calls in a burst.
func (s *shrinker) lower() {
	for i := 0; !s.spent(); i++ {
		if i >= len(lowerable(s.root, nil)) {
			return
		}
		for _, factor := range []float64{2, 1.25} {
			for s.divide(lowerable(s.root, nil)[i], factor) {
			}
		}
	}
}

// divide divides the count of a rate, or a count, by a factor, if that makes it less.
func (s *shrinker) divide(node *tree.Node, factor float64) bool {
	count, unit, rate := strings.Cut(node.Text, "/")
	n, err := strconv.Atoi(count)
	less := int(float64(n) / factor)
	if err != nil || less < 1 || less >= n {
		return false
	}
	text := strconv.Itoa(less)
	if rate {
		text += "/" + unit
	}
	return s.try(copyWith(s.root, node, text))
}

// lowerable returns the rates and counts of arrivals of a tree.
func lowerable(n *tree.Node, found []*tree.Node) []*tree.Node {
	names := []string{"poisson", "constant", "from", "to", "users", "size"}
	for _, item := range n.Items {
		switch {
		case n.Kind == tree.Map && slices.Contains(names, item.Key) && len(item.Items) == 0:
			found = append(found, item)
		case item.Key != "policies":
			found = lowerable(item, found)
		}
	}
	return found
}
