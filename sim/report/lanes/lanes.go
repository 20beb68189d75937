package lanes

import (
	"math"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/sim/engine"
)

// Group has the lanes of a client or of a service.
type Group struct {
	// Service is false for a client.
	Service bool
	Name    string
	// To is the service that a client calls, empty for a service.
	To    string
	Lanes []Lane
	// Bands are the faults of the services that the lanes depend on.
	Bands []Band
}

// Band is a fault. From and To are equal for an instant.
type Band struct {
	From, To time.Duration
	// Text says what it does, with the name of the service where the lanes depend on
	// several.
	Text string
}

// Form says how a lane is drawn.
type Form string

// The forms.
const (
	Lines  Form = "lines"
	Stack  Form = "stack"  // the series add up
	Heat   Form = "heat"   // counts by part and bucket of latency
	States Form = "states" // spans of states, a row a breaker
)

// Unit is what the values of a lane are.
type Unit string

// The units. Number is for plain counts and ratios.
const (
	Number    Unit = ""
	PerSecond Unit = "/s"
	Seconds   Unit = "s"
)

// Lane is one drawing over the axis of time.
type Lane struct {
	// ID names the lane in its group: "calls", "refusals", "latency", "heat",
	// "amplification", "active", "breakers", "keys" and "step NAME" of a client;
	// "requests", "system", "breakers", "keys" and "step NAME" of a service.
	ID     string
	Title  string
	Form   Form
	Unit   Unit
	Series []Series
	// Rows of States.
	Rows []Row
	// Heat of Heat.
	Heat *Map
}

// Role says what a series shows, for its colour and its line.
type Role string

// The roles of series. The roles of a stack are "reason0" to "reason5".
const (
	Offered  Role = "offered"
	Good     Role = "good"
	Attempts Role = "attempts"
	Failed   Role = "failed"
	Wasted   Role = "wasted"
	Limit    Role = "limit"
	Used     Role = "used"
	Waiting  Role = "waiting"
	Low      Role = "low"
	Middle   Role = "middle"
	High     Role = "high"
)

// Colours is how many colours the reasons of a stack have; the others share the last.
const Colours = 6

// Series has a value for each part, NaN for none.
type Series struct {
	Name   string
	Role   Role
	Values []float64
}

// Row has the states of a breaker.
type Row struct {
	Name  string
	Spans []Span
}

// Span is a time in one state.
type Span struct {
	From, To time.Duration
	State    string
}

// Map counts calls by part and by bucket of latency.
type Map struct {
	// Edges of the buckets: bucket i is from Edges[i] to below Edges[i+1]. The first one
	// also has the calls that are faster, which are at most one in a thousand.
	Edges []time.Duration
	// Counts by part and bucket.
	Counts [][]uint32
}

// Of returns the groups of a result: of its clients, then of its services.
func Of(r *engine.Result) []Group {
	var groups []Group
	for i := range r.Clients {
		groups = append(groups, client(r, i))
	}
	for i := range r.Services {
		groups = append(groups, service(r, i))
	}
	return groups
}

// Lane returns the lane of an ID, nil where there is none.
func (g *Group) Lane(id string) *Lane {
	for i := range g.Lanes {
		if g.Lanes[i].ID == id {
			return &g.Lanes[i]
		}
	}
	return nil
}

// add adds a lane that has something to show.
func (g *Group) add(l Lane) {
	if len(l.Series)+len(l.Rows) > 0 || l.Heat != nil {
		g.Lanes = append(g.Lanes, l)
	}
}

// Length returns how long a part is: the last one ends with the scenario.
func Length(r *engine.Result, part int) time.Duration {
	from := time.Duration(part) * r.Timeline.Width
	return min(r.Timeline.Width, r.Duration-from)
}

// rate returns counts a second.
func rate(r *engine.Result, name string, role Role, counts []uint32) Series {
	s := Series{Name: name, Role: role, Values: make([]float64, len(counts))}
	for i, n := range counts {
		s.Values[i] = float64(n) / Length(r, i).Seconds()
	}
	return s
}

// values returns counts as they are.
func values(name string, role Role, counts []uint32) Series {
	s := Series{Name: name, Role: role, Values: make([]float64, len(counts))}
	for i, n := range counts {
		s.Values[i] = float64(n)
	}
	return s
}

// present drops series in which nothing happened.
func present(all ...Series) (some []Series) {
	for _, s := range all {
		if Most(s.Values) > 0 {
			some = append(some, s)
		}
	}
	return some
}

// Most returns the greatest value, 0 without any.
func Most(values []float64) float64 {
	most := 0.0
	for _, v := range values {
		if v > most {
			most = v
		}
	}
	return most
}

// bands returns the faults of services.
func bands(r *engine.Result, services []int) (all []Band) {
	for _, i := range services {
		for _, b := range r.Timeline.Services[i].Bands {
			text := b.Text
			if len(services) > 1 {
				text = r.Services[i].Name + ": " + text
			}
			all = append(all, Band{time.Duration(b.From), time.Duration(min(b.To, clock.Mark(r.Duration))), text})
		}
	}
	return all
}

// steps adds a lane for each step whose state is a number.
func (g *Group) steps(steps []engine.StepLine) {
	for i := range steps {
		s := &steps[i]
		l := Lane{ID: "step " + s.Step, Title: s.Step, Form: Lines}
		if s.Limit != nil {
			name := "at most"
			if s.Used != nil {
				name = "limit"
			}
			l.Series = append(l.Series, Series{name, Limit, s.Limit})
		}
		for _, one := range []struct {
			name   string
			role   Role
			counts []uint32
		}{{"used", Used, s.Used}, {"free", Used, s.Free}, {"waiting", Waiting, s.Waiting}} {
			if one.counts != nil {
				l.Series = append(l.Series, values(one.name, one.role, one.counts))
			}
		}
		if s.Used == nil && s.Limit == nil {
			l.Title, l.Series[0].Name = s.Step+": retries left", "left"
		}
		g.add(l)
	}
}

func nan(n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = math.NaN()
	}
	return values
}
