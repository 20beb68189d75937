package proptest

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/reducer/explore"
)

// The explorations of shared bulkheads.

// byMember is a shared bulkhead whose callers are numbered through the members, so many
// for each.
type byMember struct {
	reducer.Cell[bulkhead.SharedState]
	each uint64
}

func (c byMember) of(a reducer.Action) reducer.Action {
	if a.Kind == reducer.Acquire || a.Kind == reducer.TryAcquire {
		a.ID = (a.ID - 1) / c.each
	}
	return a
}

func (c byMember) Step(s *bulkhead.SharedState, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
	return c.Cell.Step(s, c.of(a), now, out)
}

// sharedScene is a shared bulkhead of 2 places with so many callers to each member.
// Where a member has one caller, permits that are over are used again. With several, a
// permit that is used again may end another place of the same member.
func sharedScene(name string, callers int, each uint64) scene[bulkhead.SharedState] {
	type (
		state  = bulkhead.SharedState
		cellOf = reducer.Cell[state]
		act    = reducer.Action
	)
	config := bulkhead.SharedConfig{Concurrent: 2, Lease: 3}
	made := func(change func(c *bulkhead.SharedConfig)) defect[state] {
		changed := config
		change(&changed)
		return instead[state](byMember{must(bulkhead.NewShared(changed)), each})
	}
	everywhere := func(check func(s scene[state], r *room[state], now clock.Mark) error) law[state] {
		return func(s scene[state]) checked[state] {
			return checked[state]{State: func(r room[state], now clock.Mark) error { return check(s, &r, now) }}
		}
	}
	s := scene[state]{
		name: name, depth: 20,
		use: explore.Use[state]{Cell: byMember{must(bulkhead.NewShared(config)), each}, Callers: callers,
			New: fmt.Sprintf("concurrent=%d lease=%s", config.Concurrent, config.Lease),
			Alphabet: []act{{Kind: reducer.Acquire, Cost: 1}, {Kind: reducer.TryAcquire, Cost: 1}, {Kind: reducer.Release}, {Kind: reducer.Cancel},
				{Kind: reducer.Renew}, tick}},
		marks: explore.Marks{After: []time.Duration{0, 1}, Wake: []time.Duration{0}},
		key:   sharedKey,
		last:  func(s *state) (clock.Mark, bool) { return s.Last, true },
		move:  moveMark,
	}
	s.rules = []ruled[state]{
		{"K1", "in flight <= places",
			everywhere(func(_ scene[state], r *room[state], _ clock.Mark) error {
				if n := len(held(r)); n > int(config.Concurrent) {
					return fmt.Errorf("%d hold places of %d", n, config.Concurrent)
				}
				return nil
			}),
			"has one more place than configured", made(func(c *bulkhead.SharedConfig) { c.Concurrent++ })},
		{"K3", "places are conserved: a place is held from its grant until its release or the end of the lease of its member; after all releases all places are free",
			everywhere(func(s scene[state], r *room[state], now clock.Mark) error {
				all, permits := reducer.ValuesOf(s.use.Cell).Clone(r.State), held(r)
				if len(permits) != int(all.Held) {
					return fmt.Errorf("%d hold places, %d by the state", len(permits), all.Held)
				}
				var out reducer.Out
				s.use.Cell.Step(&all, tick, now, &out)
				for _, p := range permits {
					over := slices.ContainsFunc(out, func(e reducer.Effect) bool { return e.Permit.Generation == p.Generation })
					if a := s.use.Cell.Step(&all, act{Kind: reducer.Release, Permit: p}, now, &out); (a.Verdict != reducer.Done) != over {
						return fmt.Errorf("the release of %v is %s", p, a)
					}
				}
				if peek := tried(s.use.Cell, all, act{Kind: reducer.Peek}, now); peek.answer.Free != config.Concurrent {
					return fmt.Errorf("with all given back: %s", peek.effects())
				}
				return nil
			}),
			"never frees the place of a cancelled permit", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				if a.Kind == reducer.Cancel {
					return reducer.Answer{Verdict: reducer.Done}
				}
				return c.Step(s, a, now, out)
			})},
		{"K3 (leases)", "no deadlock: from every state, time alone leads to an admission",
			everywhere(func(s scene[state], r *room[state], now clock.Mark) error {
				wake, ok := reducer.ValuesOf(s.use.Cell).NextWake(r.State)
				if tried(s.use.Cell, r.State, act{Kind: reducer.TryAcquire, Permit: reducer.Permit{ID: 1}}, now).answer.Verdict == reducer.Admit {
					return nil
				}
				if !ok || tried(s.use.Cell, r.State, act{Kind: reducer.TryAcquire, Permit: reducer.Permit{ID: 1}}, wake).answer.Verdict != reducer.Admit {
					return fmt.Errorf("it refuses at %v, too", wake)
				}
				return nil
			}),
			"extends leases at a refusal", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				answer := c.Step(s, a, now, out)
				for i := range s.Members {
					if answer.Verdict == reducer.Reject {
						s.Members[i].Until = clock.Never
					}
				}
				return answer
			})},
		{"Sound", "after every step Check passes", atStates[state](Sound),
			"keeps a member without a place", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				before := slices.Clone(s.Members)
				answer := c.Step(s, a, now, out)
				if a.Kind == reducer.Release && answer.Verdict == reducer.Done && s.Held == 0 {
					before[0].Held = 0
					s.Members = before
				}
				return answer
			})},
		{"G2", "a step of a clone leaves the state as it was", exploredG2[state],
			"shares its memory with its clone", clones(func(_ cellOf, dst, src *state) { *dst = *src })},
		{"G4", "after a tick and serving, the next wake is later, or none", atStates[state](G4),
			"wakes at once while a place is held", func(sound cellOf) cellOf {
				return &crooked[state]{Cell: sound, due: func(c cellOf, s *state) reducer.Due {
					if s.Held > 0 {
						return reducer.Due{Wake: s.Last}
					}
					return c.Due(s)
				}}
			}},
		{"G8", "if all marks are shifted by the same time, the decisions are the same", exploredG8[state],
			"does not shift the ends of leases", func(sound cellOf) cellOf {
				return &crooked[state]{Cell: sound, move: func(c cellOf, s *state, by time.Duration) {
					before := slices.Clone(s.Members)
					c.Move(s, by)
					for i := range s.Members {
						s.Members[i].Until = before[i].Until
					}
				}}
			}},
		{"G9", "a state that is encoded and decoded is the same, and decides the same afterwards", asked[state](G9),
			"decodes members without places", func(sound cellOf) cellOf {
				return &crooked[state]{Cell: sound, decode: func(c cellOf, src []byte, s *state) error {
					err := c.Decode(src, s)
					s.Held = 0
					for i := range s.Members {
						s.Members[i].Held = 0
					}
					return err
				}}
			}},
	}
	if each == 1 {
		s.use.Late = []act{{Kind: reducer.Release}}
		s.late = []act{{Kind: reducer.Release}, {Kind: reducer.Cancel}, {Kind: reducer.Renew}}
		s.rules = append(s.rules, ruled[state]{"K8", "a place is released once, and late actions change nothing", exploredG13[state],
			"frees a place of another member", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				answer := c.Step(s, a, now, out)
				if a.Kind == reducer.Release && answer.Verdict == reducer.Stale && s.Held > 0 {
					h := s.Members[0]
					a.Generation, a.ID = uint64(h.Epoch), uint64(h.ID)
					return c.Step(s, a, now, out)
				}
				return answer
			})})
	}
	return s
}

// held are the permits of the callers that hold one.
func held[S any](r *room[S]) (all []reducer.Permit) {
	for i := range r.Callers {
		if r.Callers[i].Standing == explore.Holds {
			all = append(all, r.Callers[i].Permit)
		}
	}
	return all
}

// sharedKey omits the parts that no step depends on: absolute marks and the numbers of
// stays.
func sharedKey(dst []byte, r room[bulkhead.SharedState], now clock.Mark) []byte {
	for _, h := range r.State.Members {
		left := byte(255)
		if h.Until != clock.Never {
			left = byte(max(0, h.Until-now))
		}
		dst = append(dst, byte(h.ID), byte(h.Held), left)
	}
	dst = append(dst, 255, byte(r.State.Held))
	for i := range r.Callers {
		dst = append(dst, byte(r.Callers[i].Standing))
	}
	return dst
}
