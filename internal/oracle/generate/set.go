package generate

import (
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/oracle"
)

// Spread makes two or three policies of the steps of one, some of which they share as
// mechanisms, and a log in which each call and each configure belongs to one of them.
func Spread(r *rand.Rand, p pipeline.Policy, log []oracle.Event) (policies []pipeline.Policy, events []oracle.Event) {
	shared := map[string]bool{}
	of := func(p pipeline.Policy, name string) pipeline.Policy {
		part := pipeline.Policy{Name: name, Fallback: p.Fallback, Allow: p.Allow, Deny: p.Deny}
		seen := map[pipeline.Kind]int{}
		for i, s := range p.Steps {
			if seen[s.Kind()]++; s.Name == "" {
				s.Name = s.Kind().String() + "-" + strconv.Itoa(seen[s.Kind()])
			}
			named := s.Name
			if _, known := shared[named]; !known {
				shared[named] = r.IntN(4) > 0
			}
			if r.IntN(4) == 0 && (len(part.Steps) > 0 || i < len(p.Steps)-1) {
				continue
			}
			if shared[named] {
				s.Mechanism = named
				if r.IntN(4) == 0 {
					s.Name = "my-" + named
				}
			}
			part.Steps = append(part.Steps, s)
		}
		part.Pass = len(part.Steps) == 0
		return part
	}
	for i := range 2 + r.IntN(2) {
		policies = append(policies, of(p, string(rune('a'+i))))
	}
	owners := map[string]string{}
	for _, e := range log {
		name := policies[r.IntN(len(policies))].Name
		switch e.Op {
		case "configure":
			next := of(*e.Policy, name)
			e.ID, e.Policy = strconv.Quote(name), &next
		case "call":
			owners[e.ID] = name
		default:
			if owners[e.ID] != "" {
				name = owners[e.ID]
			}
		}
		if e.Op != "configure" && e.Op != "tick" {
			e.ID = strconv.Quote(name + "/" + strings.Trim(e.ID, `"`))
		}
		events = append(events, e)
	}
	return policies, events
}
