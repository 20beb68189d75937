package scenario

import (
	"errors"
	"strconv"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy/document"
)

// Check returns an error for a scenario, made by hand, that could not be simulated. What
// Read returns has none.
func (s *Scenario) Check() error {
	switch {
	case s.Duration <= 0 || s.Duration > MaxDuration:
		return wrong("Duration", s.Duration.String(), "more than 0, at most "+MaxDuration.String())
	case s.Warmup < 0 || s.Warmup >= s.Duration:
		return wrong("Warmup", s.Warmup.String(), "0 or more, less than the duration")
	case len(s.Services) == 0:
		return wrong("Services", "none", "one or more")
	case len(s.Clients) == 0:
		return wrong("Clients", "none", "one or more")
	}
	for i := range s.Clients {
		if err := s.checkClient("Clients["+strconv.Itoa(i)+"]", &s.Clients[i]); err != nil {
			return err
		}
	}
	for i := range s.Services {
		if err := s.checkService("Services["+strconv.Itoa(i)+"]", &s.Services[i]); err != nil {
			return err
		}
	}
	if i := circle(s.Services); i >= 0 {
		return wrong("Services["+strconv.Itoa(i)+"].Calls", "a call back", "services that do not call each other in a circle")
	}
	return nil
}

func wrong(field, found, allowed string) error {
	return errors.New(field + ": found " + found + "; allowed: " + allowed)
}

// to checks the index of a service.
func (s *Scenario) to(field string, i int) error {
	if i < 0 || i >= len(s.Services) {
		return wrong(field, strconv.Itoa(i), "the index of a service")
	}
	return nil
}

func checkPolicy(field string, p *document.Policy) error {
	if p == nil {
		return nil
	}
	if _, err := pipeline.Compile(p.Policy); err != nil {
		return errors.New(field + ": " + err.Error())
	}
	return nil
}

func (s *Scenario) checkClient(field string, c *Client) error {
	a := &c.Arrivals
	if a.Users > MaxUsers {
		return wrong(field+".Arrivals.Users", strconv.Itoa(int(a.Users)), "at most "+strconv.Itoa(MaxUsers))
	}
	if a.Users == 0 && len(a.Phases) == 0 {
		return wrong(field+".Arrivals", "none", "users or phases")
	}
	for i := range a.Phases {
		p := &a.Phases[i]
		drawn := p.Kind == Gaps || p.Kind == Bursts
		if p.For <= 0 || !drawn && p.Period <= 0 || p.Kind == Ramp && p.ToPeriod <= 0 || p.Kind == Bursts && p.Size == 0 || drawn && p.Gap.isZero() {
			return wrong(field+".Arrivals.Phases["+strconv.Itoa(i)+"]", "a phase without a length, a period, a size or gaps", "all that its kind has, more than 0")
		}
	}
	if len(c.Attributes) > MaxAttributes {
		return wrong(field+".Attributes", strconv.Itoa(len(c.Attributes)), "at most "+strconv.Itoa(MaxAttributes))
	}
	err := errors.Join(s.to(field+".To", c.To), checkPolicy(field+".Policy", c.Policy), c.Key.check(field+".Key", true),
		checkDists(field, &a.Think, &c.Cost, &c.Patience, &c.Pause))
	for i := range c.Attributes {
		err = errors.Join(err, c.Attributes[i].Values.check(field+".Attributes["+strconv.Itoa(i)+"].Values", false))
	}
	return err
}

func (s *Scenario) checkService(field string, one *Service) error {
	switch {
	case one.Servers == 0 || one.Servers > MaxServers:
		return wrong(field+".Servers", strconv.Itoa(int(one.Servers)), "1 to "+strconv.Itoa(MaxServers))
	case one.Drift != nil && one.Drift.Every <= 0:
		return wrong(field+".Drift.Every", one.Drift.Every.String(), "more than 0")
	}
	err := errors.Join(checkPolicy(field+".Policy", one.Policy), checkDists(field, &one.Time))
	if one.Cache != nil {
		err = errors.Join(err, checkDists(field+".Cache", &one.Cache.Hit))
	}
	for i := range one.Calls {
		call := field + ".Calls[" + strconv.Itoa(i) + "]"
		err = errors.Join(err, s.to(call+".To", one.Calls[i].To), checkPolicy(call+".Policy", one.Calls[i].Policy))
	}
	for i := range one.Faults {
		fault := field + ".Faults[" + strconv.Itoa(i) + "]"
		f := &one.Faults[i]
		if f.At < 0 && f.Every.Kind == None {
			err = errors.Join(err, wrong(fault+".At", f.At.String(), "0 or more, or a fault that comes again"))
		}
		err = errors.Join(err, checkDists(fault, &f.For, &f.Every))
	}
	return err
}

// check checks the values of a key or an attribute. A key may have none.
func (v *Values) check(field string, none bool) error {
	if v.Count == 0 && none {
		return nil
	}
	if v.Count < 1 || v.Count > MaxValues || v.Names != nil && len(v.Names) != v.Count || v.Table != nil && v.Table.Len() != v.Count {
		return wrong(field, strconv.Itoa(v.Count)+" values", "1 to "+strconv.Itoa(MaxValues)+", as many as names and weights")
	}
	return nil
}

// isZero reports whether a distribution draws nothing above 0.
func (d *Dist) isZero() bool {
	return d.Kind == None || d.Kind == ConstantDist && d.A < 1 || d.Kind == UniformDist && d.B < 1
}

// checkDists checks what distributions need.
func checkDists(field string, list ...*Dist) error {
	for _, d := range list {
		bad := !(d.A >= 0) || !(d.B >= 0)
		switch d.Kind {
		case UniformDist:
			bad = bad || d.B < d.A
		case Pareto:
			bad = bad || d.B <= 0
		case Erlang:
			bad = bad || d.K == 0
		case Hyperexponential:
			bad = d.Table == nil || d.Table.Len() != len(d.Means)
		}
		if bad {
			return wrong(field, "a distribution whose settings are not complete", "those that Read makes")
		}
	}
	return nil
}
