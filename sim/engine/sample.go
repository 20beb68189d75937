package engine

import (
	"strings"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/sim/internal/jsontext"
)

// Sample is an event of a client's policy with its decisions. Of each part of the
// timeline and each client the samples have the first Options.Sample events that
// cause a decision; of the others the first refusal by each step and reason, and the
// first changes of breakers, as decisions without their event.
type Sample struct {
	// Client is its index in Result.Clients.
	Client int
	At     clock.Mark
	// Event is "call", "cancel", "time" for what the policy had due, or the outcome of
	// an attempt; empty for a decision without its event.
	Event string
	// Call is the number of the call, 0 for none, and Key its key.
	Call uint64
	Key  string
	// Decisions are lines of the decision log.
	Decisions []string
	// States of the cells that the event changed and of those that decided.
	States []SampledState
}

// SampledState is the state of a step's cell in words, before and after an event.
// Before is empty for a decision without its event.
type SampledState struct{ Step, Before, After string }

// mostChanges is how many changes of breakers samples have of a part beyond their
// events.
const mostChanges = 4

// sampler takes samples of the events of a process. Its methods do nothing where it is
// nil.
type sampler struct {
	client, most  int
	part          int // that the counts are of
	taken         int
	changes       int
	refused       []refusalKind
	active        bool // an event is being sampled
	now           clock.Mark
	one           Sample
	keys          [pipeline.MaxSteps]uint32
	before, after [pipeline.MaxSteps]string
	named         uint16 // steps that decided
}

// refusalKind is a step and a reason.
type refusalKind struct {
	step   int
	reason reducer.Reason
}

// The methods that a process calls only look whether there is a sampler, so that they
// are inlined.

// begin begins an event, whose call is nil for none.
func (s *sampler) begin(p *process, event string, c *call) {
	if s != nil {
		s.open(p, event, c)
	}
}

// decision samples a decision, whose call is nil for none.
func (s *sampler) decision(p *process, c *call, d *decision.Decision) {
	if s != nil {
		s.decided(p, c, d)
	}
}

// end ends an event.
func (s *sampler) end(p *process) {
	if s != nil && s.active {
		s.close(p)
	}
}

func (s *sampler) open(p *process, event string, c *call) {
	if s.part != p.sim.part {
		s.part, s.taken, s.changes, s.refused = p.sim.part, 0, 0, s.refused[:0]
	}
	if s.active = s.taken < s.most; !s.active {
		return
	}
	s.one = Sample{Client: s.client, At: p.sim.now, Event: event}
	s.keys, s.named, s.now = [pipeline.MaxSteps]uint32{}, 0, p.local()
	if c != nil {
		s.one.Call, s.one.Key, s.keys = c.number, c.keyText(), *c.keys
	}
	s.states(p, &s.before)
}

// states writes the states of the cells of all steps. A step with keys has the state of the
// call's key.
func (s *sampler) states(p *process, texts *[pipeline.MaxSteps]string) {
	plan := p.driver.Plan()
	for i := range plan.Len() {
		texts[i] = ""
		if len(plan.Per(i)) > 0 && s.keys[i] == 0 {
			continue
		}
		if c := p.driver.Cell(i, s.keys[i]); c != nil {
			texts[i] = cell.Text(c, s.now)
		}
	}
}

func (s *sampler) decided(p *process, c *call, d *decision.Decision) {
	if s.active {
		s.add(c, d)
		return
	}
	switch d.Kind {
	case decision.Change:
		if s.changes++; s.changes > mostChanges {
			return
		}
	case decision.Reject, decision.Expire:
		kind := refusalKind{d.Index, d.Reason}
		for _, one := range s.refused {
			if one == kind {
				return
			}
		}
		s.refused = append(s.refused, kind)
	default:
		return
	}
	s.alone(p, c, d)
}

func (s *sampler) add(c *call, d *decision.Decision) {
	id := ""
	if c != nil {
		id = c.id
	}
	line := decision.AppendLine(nil, id, d)
	if d.Kind == decision.Change {
		line = appendChange(line[:len(line)-2], d)
	}
	s.one.Decisions = append(s.one.Decisions, strings.TrimSuffix(string(line), "\n"))
	if d.Index >= 0 {
		s.named |= 1 << d.Index
	}
}

// appendChange ends the line of a change of a breaker, which the log of eval does not
// have, with its step and state.
func appendChange(line []byte, d *decision.Decision) []byte {
	line = jsontext.AppendText(append(line, `,"step":`...), d.Step)
	line = jsontext.AppendText(append(line, `,"state":`...), modeOf(d).String())
	return append(line, '}')
}

// alone samples a decision without its event.
func (s *sampler) alone(p *process, c *call, d *decision.Decision) {
	s.one = Sample{Client: s.client, At: p.sim.now}
	key := d.Call.Slot() // of a change
	if c != nil {
		s.one.Call, s.one.Key, key = c.number, c.keyText(), 0
		if d.Index >= 0 {
			key = c.keys[d.Index]
		}
	}
	s.add(c, d)
	if d.Index >= 0 {
		if one := p.driver.Cell(d.Index, key); one != nil {
			s.one.States = []SampledState{{Step: d.Step, After: cell.Text(one, p.local())}}
		}
	}
	p.sim.samples = append(p.sim.samples, s.one)
}

func (s *sampler) close(p *process) {
	s.active = false
	if len(s.one.Decisions) == 0 {
		return
	}
	s.taken++
	s.states(p, &s.after)
	plan := p.driver.Plan()
	for i := range plan.Len() {
		if s.after[i] != "" && (s.before[i] != s.after[i] || s.named>>i&1 > 0) {
			s.one.States = append(s.one.States, SampledState{plan.StepName(i), s.before[i], s.after[i]})
		}
	}
	p.sim.samples = append(p.sim.samples, s.one)
}
