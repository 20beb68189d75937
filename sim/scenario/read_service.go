package scenario

import (
	"github.com/sluice-go/sluice/policy/tree"
)

// readServices reads the list of services.
func (r *reader) readServices(n *tree.Node, s *Scenario) {
	seen := map[string]bool{}
	items := r.list(n, MaxServices, "services")
	for _, item := range items {
		one, _ := r.readService(item, seen)
		s.Services = append(s.Services, one)
	}
	if i := circle(s.Services); i >= 0 {
		r.Fail(items[i], "calls to services that do not call back")
	}
}

// circle returns the index of a service that calls itself, directly or by others,
// -1 for none: services whose calls are all known to end are taken away until none
// is left.
func circle(list []Service) int {
	ends := make([]bool, len(list))
	for range list {
		left := -1
		for i := range list {
			if ends[i] {
				continue
			}
			done := true
			for _, edge := range list[i].Calls {
				done = done && ends[edge.To]
			}
			if ends[i] = done; !done {
				left = i
			}
		}
		if left < 0 {
			return -1
		}
	}
	for i := range list {
		if !ends[i] {
			return i
		}
	}
	return -1
}

func (r *reader) readService(n *tree.Node, seen map[string]bool) (s Service, ok bool) {
	f := r.Fields(n, "a service: a map of name, servers, queue, time and faults",
		"name servers queue time fail abandon policy calls parallel cache warm_up drift faults")
	if f == nil {
		return s, false
	}
	s.Name = r.name(f, seen)
	s.Servers, s.Queue = 1, -1
	if n := f.Get("servers"); n != nil {
		s.Servers, _ = r.Integer(n, 1, MaxServers)
	}
	if n := f.Get("queue"); n != nil {
		places, _ := r.Integer(n, 0, MaxServers)
		s.Queue = int(places)
	}
	if n := f.Need("time", distText); n != nil {
		s.Time = r.times(n)
	}
	s.Fail = r.share(f, "fail")
	s.Abandon = r.flag(f, "abandon")
	s.Policy = r.policy(f.Get("policy"))
	if n := f.Get("calls"); n != nil {
		r.calls(n, &s)
	}
	s.Parallel = r.flag(f, "parallel")
	if n := f.Get("cache"); n != nil {
		r.cache(n, &s)
	}
	if n := f.Get("warm_up"); n != nil {
		r.warmUp(n, &s)
	}
	if n := f.Get("drift"); n != nil {
		r.drift(n, &s)
	}
	if n := f.Get("faults"); n != nil {
		for _, item := range r.list(n, 1000, "faults") {
			if fault, ok := r.fault(item, &s); ok {
				s.Faults = append(s.Faults, fault)
			}
		}
	}
	return s, true
}

func (r *reader) calls(n *tree.Node, s *Service) {
	for _, item := range r.list(n, 16, "calls") {
		f := r.Fields(item, "a call: a map of to and policy", "to policy optional")
		if f == nil {
			continue
		}
		edge := Edge{Policy: r.policy(f.Get("policy")), Optional: r.flag(f, "optional")}
		if n := f.Need("to", "the name of a service"); n != nil {
			edge.To = r.service(n)
		}
		s.Calls = append(s.Calls, edge)
	}
}

func (r *reader) cache(n *tree.Node, s *Service) {
	f := r.Fields(n, "a map of hit and for", "hit for")
	if f == nil {
		return
	}
	s.Cache = &Cache{For: r.duration(f, "for", 1, 0)}
	if n := f.Need("hit", distText); n != nil {
		s.Cache.Hit = r.times(n)
	}
}

func (r *reader) warmUp(n *tree.Node, s *Service) {
	f := r.Fields(n, "a map of for and slow", "for slow")
	if f == nil {
		return
	}
	s.WarmUp = &WarmUp{Slow: 1}
	if n := f.Need("for", "how long the service warms up"); n != nil {
		s.WarmUp.For, _ = r.Duration(n, 1)
	}
	if n := f.Need("slow", slowText); n != nil {
		s.WarmUp.Slow = r.number(n, 0, 1e6, slowText)
	}
}

const slowText = "a factor of service times, a number from 0 to 1000000"

func (r *reader) drift(n *tree.Node, s *Service) {
	f := r.Fields(n, "a map of every, sigma and correlation", "every sigma correlation")
	if f == nil {
		return
	}
	s.Drift = &Drift{}
	if n := f.Need("every", "a duration as in 1s"); n != nil {
		s.Drift.Every, _ = r.Duration(n, 1)
	}
	if n := f.Need("sigma", "a number"); n != nil {
		s.Drift.Sigma = r.number(n, 0, 10, "a number from 0 to 10, the standard deviation of the logarithm")
	}
	if n := f.Need("correlation", "a number"); n != nil {
		s.Drift.Correlation = r.number(n, 0, 1, "a number from 0 to 1")
	}
}

func (r *reader) fault(n *tree.Node, s *Service) (fault Fault, ok bool) {
	f := r.Fields(n, "a fault: a map of at, for and what happens",
		"at for every slow fail throttle retry_after servers pause flush restart")
	if f == nil {
		return fault, false
	}
	fault = Fault{At: r.duration(f, "at", 0, -1), Slow: 1, Servers: -1, RetryAfter: r.duration(f, "retry_after", 0, -1)}
	fault.Every = r.timesOr(f, "every", Dist{})
	if fault.Every.Kind == None {
		f.Need("at", "the mark of the fault")
	}
	instant := f.Get("for") == nil && f.Get("flush") != nil
	if n := f.Get("for"); n != nil {
		fault.For = r.times(n)
	} else if !instant {
		f.Need("for", "how long the fault lasts")
	}
	if n := f.Get("slow"); n != nil {
		fault.Slow = r.number(n, 0, 1e6, slowText)
	}
	fault.Fail = r.share(f, "fail")
	fault.Throttle = r.share(f, "throttle")
	if n := f.Get("servers"); n != nil {
		servers, _ := r.Integer(n, 0, MaxServers)
		fault.Servers = int(servers)
	}
	fault.Pause, fault.Flush, fault.Restart = r.flag(f, "pause"), r.flag(f, "flush"), r.flag(f, "restart")
	if fault.Flush && s.Cache == nil {
		r.Fail(f.Get("flush"), "a fault without it, or a service with a cache")
	}
	if n := f.Get("retry_after"); n != nil && f.Get("throttle") == nil {
		r.Fail(n, "retry_after beside throttle")
	}
	return fault, true
}
