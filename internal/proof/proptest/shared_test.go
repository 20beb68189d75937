package proptest

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/reducer"
)

// The invariants of shared bulkheads with members of several places.

// sharedStep steps a shared bulkhead: as its machine does, or with a defect.
type sharedStep func(m *bulkhead.SharedMachine, s *bulkhead.SharedState, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer

// tenant has the same places in both bulkheads.
type tenant struct {
	member       uint64
	cost         uint32
	shared, sole reducer.Permit
	over         bool // released or lapsed
}

// tenancy drives a shared bulkhead beside one in which each place has its own lease,
// and all leases of a member are renewed whenever it is admitted or renews one.
type tenancy struct {
	step    sharedStep
	now     clock.Mark
	config  bulkhead.SharedConfig
	shared  *bulkhead.SharedMachine
	members bulkhead.SharedState
	sole    *bulkhead.Machine
	places  bulkhead.State
	tenants []tenant
}

func (t *tenancy) configure(w uint64) {
	t.config = bulkhead.SharedConfig{Concurrent: 1 + uint32(w%4), Lease: time.Duration(1 + w>>4%24)}
	t.shared = must(bulkhead.NewShared(t.config))
	t.sole = must(bulkhead.New(bulkhead.Config{Concurrent: t.config.Concurrent, Lease: t.config.Lease}))
}

// both is a step of both.
type both struct {
	action       reducer.Action
	shared, sole reducer.Answer
	lapsed       reducer.Out // members
	expected     []uint64    // members whose places lapsed
}

func (b *both) String() string {
	return fmt.Sprintf("%s: %s, each place with its own lease: %s", b.action, reducer.Effects{Answer: b.shared, Others: b.lapsed}, b.sole)
}

// next plays a word.
func (t *tenancy) next(w uint64) *both {
	t.now = t.now.Add(time.Duration(w % 5))
	b := &both{}
	var out reducer.Out
	if w>>4%32 == 0 {
		before, was := t.shared, t.sole
		t.configure(w >> 10)
		t.places = reducer.ValuesOf(t.sole).Adopt(t.places, was, t.now, &out)
		t.members = reducer.ValuesOf(t.shared).Adopt(t.members, before, t.now, &b.lapsed)
	} else {
		t.sole.Step(&t.places, tick, t.now, &out)
	}
	for _, e := range out {
		i := slices.IndexFunc(t.tenants, func(h tenant) bool {
			return !h.over && h.sole.ID == e.Permit.ID && h.sole.Generation == e.Permit.Generation
		})
		t.tenants[i].over = true
		if !slices.Contains(b.expected, t.tenants[i].member) {
			b.expected = append(b.expected, t.tenants[i].member)
		}
	}
	b.action = reducer.Action{Kind: pick(w>>12, reducer.Acquire, reducer.Acquire, reducer.TryAcquire, reducer.Release, reducer.Release, reducer.Cancel,
		reducer.Renew, reducer.Peek, reducer.Tick), Cost: 1}
	switch b.action.Kind {
	case reducer.Release, reducer.Cancel, reducer.Renew:
		t.end(b, w>>24)
	default:
		b.action.Cost = pick(w>>30, uint32(1), 1, 2, 3, 0)
		t.ask(b, 1+w>>24%3)
	}
	return b
}

func (t *tenancy) ask(b *both, member uint64) {
	var out reducer.Out
	b.action.ID = member
	b.shared = t.step(t.shared, &t.members, b.action, t.now, &b.lapsed)
	b.sole = t.sole.Step(&t.places, b.action, t.now, &out)
	switch {
	case b.action.Kind == reducer.Peek: // it has ended no leases
		t.step(t.shared, &t.members, tick, t.now, &b.lapsed)
	case b.sole.Verdict == reducer.Admit:
		t.tenants = append(t.tenants, tenant{member: member, cost: b.action.Cost, shared: b.shared.Permit, sole: b.sole.Permit})
		t.renew(member)
	}
}

// renew extends the leases of all places of a member.
func (t *tenancy) renew(member uint64) {
	var out reducer.Out
	for _, h := range t.tenants {
		if h.member == member && !h.over {
			t.sole.Step(&t.places, reducer.Action{Kind: reducer.Renew, Permit: h.sole}, t.now, &out)
		}
	}
}

// end ends or renews a permit, also one that is over. A permit of a stay that goes on
// ends once.
func (t *tenancy) end(b *both, choice uint64) {
	var may []int
	for i, h := range t.tenants {
		if !h.over || !slices.ContainsFunc(t.tenants, func(o tenant) bool { return !o.over && o.shared.Generation == h.shared.Generation }) {
			may = append(may, i)
		}
	}
	permit := tenant{}
	if len(may) > 0 {
		h := &t.tenants[may[choice%uint64(len(may))]]
		permit = *h
		h.over = h.over || b.action.Kind != reducer.Renew
	}
	var out reducer.Out
	b.action.Permit, b.action.Cost = permit.shared, permit.cost
	b.shared = t.step(t.shared, &t.members, b.action, t.now, &b.lapsed)
	a := b.action
	a.Permit = permit.sole
	if b.sole = t.sole.Step(&t.places, a, t.now, &out); a.Kind == reducer.Renew && b.sole.Verdict == reducer.Done {
		t.renew(permit.member)
	}
}

// agrees compares what both said, and their states.
func (t *tenancy) agrees(b *both) error {
	a, c := b.shared, b.sole
	if a.Verdict != c.Verdict || a.Reason != c.Reason || a.Free != c.Free || b.action.Kind == reducer.Peek && a.Mark != c.Mark {
		return fmt.Errorf("%s", b)
	}
	if t.members.Held != t.places.Held || t.shared.Due(&t.members).Wake != t.sole.Due(&t.places).Wake {
		return fmt.Errorf("%s: %d places are held until %v, each with its own lease %d until %v", b, t.members.Held, t.shared.Due(&t.members).Wake,
			t.places.Held, t.sole.Due(&t.places).Wake)
	}
	return nil
}

// conserves recounts the places of each member.
func (t *tenancy) conserves(b *both) error {
	var held [4]uint32
	for _, h := range t.tenants {
		if !h.over {
			held[h.member] += max(1, h.cost)
		}
	}
	for _, h := range t.members.Members {
		if held[h.ID] != h.Held {
			return fmt.Errorf("%s: member %d holds %d places, not %d", b, h.ID, h.Held, held[h.ID])
		}
		held[h.ID] = 0
	}
	if held != [4]uint32{} {
		return fmt.Errorf("%s: of members that are not there %v places are held", b, held)
	}
	return t.shared.Check(&t.members)
}

// lapses checks that members lapse with all their places, once.
func (t *tenancy) lapses(b *both) error {
	var members []uint64
	for _, e := range b.lapsed {
		if slices.ContainsFunc(t.members.Members, func(h bulkhead.Member) bool { return uint64(h.Epoch) == e.Permit.Generation }) {
			return fmt.Errorf("%s: the stay %d goes on", b, e.Permit.Generation)
		}
		members = append(members, e.Caller)
	}
	slices.Sort(b.expected)
	if !slices.Equal(members, b.expected) {
		return fmt.Errorf("%s: %v lapse, not %v", b, members, b.expected)
	}
	return nil
}

// sharedRow makes a row of a check of every step of both.
func sharedRow(name, statement string, kind how, met func(b *both) bool, holds func(t *tenancy, b *both) error, defect string, mutant sharedStep) row {
	on := func(name string, cases, size int, shrinks bool, step sharedStep, enough int) trial {
		return trial{name, func() error {
			n := 0
			err := searched(cases, size, shrinks, func(h history) error {
				t := &tenancy{step: step}
				t.configure(h.word(0))
				for _, w := range h.steps() {
					b := t.next(w)
					if met(b) {
						n++
					}
					if err := holds(t, b); err != nil {
						return fmt.Errorf("%+v: at %v %w", t.config, t.now, err)
					}
				}
				return nil
			})
			if err == nil && n < enough {
				err = errRare
			}
			return err
		}}
	}
	return row{name, statement, kind, []trial{on(shared.name, cases, size, true, (*bulkhead.SharedMachine).Step, rare)},
		on(shared.name+" that "+defect, mutantCases, mutantSize, false, mutant, 0)}
}

// sharedLines are the rows of members with several places.
func sharedLines() []row {
	return []row{
		sharedRow("K*", "a shared bulkhead answers as one in which all leases of a member are renewed whenever it is admitted or renews", byDifference,
			func(b *both) bool { return b.sole.Verdict == reducer.Reject }, (*tenancy).agrees,
			"does not extend the lease of a member that has places already",
			func(m *bulkhead.SharedMachine, s *bulkhead.SharedState, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
				before := slices.Clone(s.Members)
				answer := m.Step(s, a, now, out)
				for i := range s.Members {
					h := &s.Members[i]
					at := slices.IndexFunc(before, func(o bulkhead.Member) bool { return o.ID == h.ID })
					if answer.Verdict == reducer.Admit && uint64(h.ID) == a.ID && at >= 0 {
						h.Until = before[at].Until
					}
				}
				return answer
			}),
		sharedRow("K3", "the places of each member are those that it was granted and has neither released nor lost", byProperty,
			func(b *both) bool { return b.shared.Verdict == reducer.Stale }, (*tenancy).conserves,
			"accepts a permit of an earlier stay of its member",
			func(m *bulkhead.SharedMachine, s *bulkhead.SharedState, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
				for _, h := range s.Members {
					if a.Kind == reducer.Release && uint64(h.ID) == a.ID {
						a.Generation = uint64(h.Epoch)
					}
				}
				return m.Step(s, a, now, out)
			}),
		sharedRow("K3", "a member whose lease is over loses all of its places at that mark, with one effect", byProperty,
			func(b *both) bool { return len(b.expected) > 0 }, (*tenancy).lapses,
			"ends the lease of a member when it releases a place",
			func(m *bulkhead.SharedMachine, s *bulkhead.SharedState, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
				answer := m.Step(s, a, now, out)
				for i := range s.Members {
					if h := &s.Members[i]; a.Kind == reducer.Release && answer.Verdict == reducer.Done && uint64(h.ID) == a.ID {
						h.Until = now.Add(1)
					}
				}
				return answer
			}),
	}
}
