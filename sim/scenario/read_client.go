package scenario

import (
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/policy/tree"
)

// clients reads the list of clients.
func (r *reader) clients(n *tree.Node, s *Scenario) {
	seen := map[string]bool{}
	for _, item := range r.list(n, MaxClients, "clients") {
		if c, ok := r.client(item, seen); ok {
			bounded(&c, s.Duration)
			s.Clients = append(s.Clients, c)
		}
	}
}

func (r *reader) client(n *tree.Node, seen map[string]bool) (c Client, ok bool) {
	f := r.Fields(n, "a client: a map of name, to, arrivals and policy",
		"name to arrivals policy key attributes cost deadline patience repeats clock")
	if f == nil {
		return c, false
	}
	c.Name = r.name(f, seen)
	if n := f.Need("to", "the name of a service"); n != nil {
		c.To = r.service(n)
	}
	if n := f.Need("arrivals", arrivalsText); n != nil {
		r.arrivals(n, &c.Arrivals)
	}
	c.Policy = r.policy(f.Get("policy"))
	if n := f.Get("key"); n != nil {
		c.Key = r.values(n)
	}
	if n := f.Get("attributes"); n != nil {
		c.Attributes = r.attributes(n)
	}
	c.Cost = ConstantOf(1)
	if n := f.Get("cost"); n != nil {
		c.Cost = r.dist(n, r.permits)
	}
	c.Deadline = r.duration(f, "deadline", 0, -1)
	c.Patience = r.timesOr(f, "patience", Dist{})
	if n := f.Get("repeats"); n != nil {
		r.repeats(n, &c)
	}
	if n := f.Get("clock"); n != nil {
		c.Jumps = r.jumps(n)
	}
	return c, true
}

// attributes reads a map of attributes and how their values are drawn.
func (r *reader) attributes(n *tree.Node) (list []Attribute) {
	if n.Kind != tree.Map {
		r.Fail(n, "a map of attributes, as in {tier: {weights: {gold: 1, free: 9}}}")
		return nil
	}
	if len(n.Items) > MaxAttributes {
		r.Fail(n, "at most "+strconv.Itoa(MaxAttributes)+" attributes")
		return nil
	}
	seen := map[string]bool{}
	for _, e := range n.Items {
		if seen[e.Key] || e.Key == "key" {
			r.FailKey(e, "the attribute "+strings.ReplaceAll(e.Key, "$", "")+" here", "each attribute once; the key has a setting of its own")
			continue
		}
		seen[e.Key] = true
		list = append(list, Attribute{Name: e.Key, Values: r.values(e)})
	}
	return list
}

func (r *reader) repeats(n *tree.Node, c *Client) {
	f := r.Fields(n, "a map of times and wait", "times wait")
	if f == nil {
		return
	}
	if n := f.Need("times", "how many times the client calls again"); n != nil {
		c.Repeats, _ = r.Integer(n, 1, 1_000_000)
	}
	c.Pause = r.timesOr(f, "wait", ConstantOf(0))
}

// jumps reads the leaps of a clock.
func (r *reader) jumps(n *tree.Node) (list []Jump) {
	for _, item := range r.list(n, 1000, "jumps") {
		f := r.Fields(item, "a jump: a map of at, and of forward or back", "at forward back")
		if f == nil {
			continue
		}
		j := Jump{At: -1}
		if n := f.Need("at", "the mark of the jump"); n != nil {
			j.At, _ = r.Duration(n, 0)
		}
		e := f.OneOf("forward back", "one of forward and back, a duration")
		if e == nil {
			continue
		}
		if j.By, _ = r.Duration(e, 1); j.By > MaxDuration {
			r.Fail(e, "a duration of at most 366d")
		}
		if e.Key == "back" {
			j.By = -j.By
		}
		if len(list) > 0 && list[len(list)-1].At > j.At {
			r.Fail(item, "jumps in the order of their marks")
		}
		list = append(list, j)
	}
	return list
}

const (
	phaseNames    = "poisson constant ramp gaps bursts"
	arrivalsNames = phaseNames + " closed steps"
	arrivalsText  = "one of {poisson: 100/s}, {constant: 100/s}, {ramp: {from: 10/s, to: 100/s}}, {gaps: DIST}, {bursts: {size: n, every: DIST}}, {closed: {users: 50, think: DIST}} or {steps: [{for: 2m, poisson: 50/s}, ...]}"
	phaseText     = "one of poisson, constant, ramp, gaps and bursts"
)

func (r *reader) arrivals(n *tree.Node, a *Arrivals) {
	f := r.Fields(n, arrivalsText, arrivalsNames)
	if f == nil {
		return
	}
	e := f.OneOf(arrivalsNames, arrivalsText)
	switch {
	case e == nil:
	case e.Key == "closed":
		r.closed(e, a)
	case e.Key == "steps":
		for _, item := range r.list(e, 10_000, "steps") {
			f := r.Fields(item, "a step: a map of for and of "+phaseText, "for "+phaseNames)
			if f == nil {
				continue
			}
			p := Phase{}
			if n := f.Need("for", "how long the step lasts"); n != nil {
				p.For, _ = r.Duration(n, 1)
			}
			if e := f.OneOf(phaseNames, phaseText); e != nil {
				r.phase(e, &p)
			}
			a.Phases = append(a.Phases, p)
		}
	default:
		p := Phase{For: forever}
		r.phase(e, &p)
		a.Phases = append(a.Phases, p)
	}
}

func (r *reader) closed(n *tree.Node, a *Arrivals) {
	f := r.Fields(n, "a map of users and think", "users think")
	if f == nil {
		return
	}
	if n := f.Need("users", "how many users there are"); n != nil {
		a.Users, _ = r.Integer(n, 1, MaxUsers)
	}
	if n := f.Need("think", distText); n != nil {
		a.Think = r.times(n)
	}
}

// phase reads how calls arrive for a while.
func (r *reader) phase(e *tree.Node, p *Phase) {
	switch e.Key {
	case "poisson":
		p.Kind = Poisson
		p.Count, p.Period, _ = r.Rate(e, 0)
	case "constant":
		p.Kind = Constant
		p.Count, p.Period, _ = r.Rate(e, 0)
	case "ramp":
		p.Kind = Ramp
		r.ramp(e, p)
	case "gaps":
		p.Kind = Gaps
		p.Gap = r.gap(e)
	case "bursts":
		p.Kind = Bursts
		f := r.Fields(e, "a map of size and every", "size every")
		if f == nil {
			return
		}
		if n := f.Need("size", "how many calls arrive at once"); n != nil {
			p.Size, _ = r.Integer(n, 1, 1_000_000)
		}
		if n := f.Need("every", distText); n != nil {
			p.Gap = r.gap(n)
		}
	}
}

// gap reads the time between arrivals, which must not be always 0.
func (r *reader) gap(n *tree.Node) Dist {
	d := r.times(n)
	if d.Kind == ConstantDist && d.A < 1 || d.Kind == UniformDist && d.B < 1 {
		r.Fail(n, "gaps of more than 0")
	}
	return d
}

func (r *reader) ramp(e *tree.Node, p *Phase) {
	f := r.Fields(e, "a map of from and to, two rates", "from to")
	if f == nil {
		return
	}
	if n := f.Need("from", "a rate as in 10/s"); n != nil {
		p.Count, p.Period, _ = r.Rate(n, 0)
	}
	if n := f.Need("to", "a rate as in 100/s"); n != nil {
		p.ToCount, p.ToPeriod, _ = r.Rate(n, 0)
	}
}

// bounded gives a ramp that lasts for ever the duration of the scenario.
func bounded(c *Client, whole time.Duration) {
	for i := range c.Arrivals.Phases {
		if p := &c.Arrivals.Phases[i]; p.Kind == Ramp && p.For == forever {
			p.For = whole
		}
	}
}
