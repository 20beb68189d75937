package generate

import (
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/oracle"
)

// Followable makes a log that a runner can follow: each call has an id of its
// own, which is its key too. On the grid events come where they were drawn, so that
// much coincides; else they come off it.
func Followable(rng *rand.Rand, p pipeline.Policy, events []oracle.Event, grid bool) (pipeline.Policy, []oracle.Event) {
	last, unit := int64(0), events[len(events)-1].At/1000+10
	names := map[string]string{}
	var log []oracle.Event
	for _, e := range events {
		if !grid {
			e.At = max(last, e.At+rng.Int64N(unit))
		}
		last = e.At
		switch e.Op {
		case "call":
			names[e.ID] = strconv.Itoa(len(log))
			attributes := map[string]string{"header:k": e.Key}
			for name, value := range e.Attributes {
				attributes[name] = value
			}
			e.Attributes = attributes
			if e.Deadline != nil && *e.Deadline == 0 {
				e.Deadline = nil // a runner takes no caller whose context is over
			}
		case "configure":
			next := unkeyed(*e.Policy)
			e.Policy = &next
		}
		if e.ID != "" {
			if e.ID = names[e.ID]; e.ID == "" {
				continue
			}
			e.Key = e.ID
		}
		if e.Op != "call" {
			e.Key = ""
		}
		log = append(log, e)
	}
	return unkeyed(p), log
}

// unkeyed puts the header k in the place of the key, which names the call.
func unkeyed(p pipeline.Policy) pipeline.Policy {
	p.Steps = slices.Clone(p.Steps)
	p.Fallback = nil
	for i := range p.Steps {
		s := &p.Steps[i]
		s.Per = slices.Clone(s.Per)
		if len(s.Per) > 0 && s.Keys == 0 {
			// A runner divides more keys among tables by random hashes, and each of them
			// evicts when the number becomes smaller.
			s.Keys = 1_000
		}
		for j, attribute := range s.Per {
			if attribute == "key" {
				s.Per[j] = "header:k"
			}
		}
	}
	return p
}
