package explore

import (
	"slices"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// note records a step in the books.
func (r *Room[S]) note(deed Deed, a reducer.Action, effects reducer.Effects, at clock.Mark, remembers bool) {
	var c *Caller
	if deed.Caller > 0 && deed.Caller <= uint64(len(r.Callers)) {
		c = &r.Callers[deed.Caller-1]
	}
	asks := about(a.Kind) == asking
	switch {
	case asks && effects.Answer.Verdict == reducer.Admit:
		r.grant(c, a.Cost, effects.Answer.Permit, at, remembers)
	case asks && effects.Answer.Verdict == reducer.Wait && c != nil:
		*c = Caller{Standing: Waits, Cost: a.Cost, Ticket: effects.Answer.ID, Since: at}
		r.Queue = append(slices.Clip(r.Queue), deed.Caller)
	case c == nil:
	case a.Kind == reducer.Leave && effects.Answer.Verdict == reducer.Done || a.Kind == reducer.Expire && effects.Answer.Verdict == reducer.Reject:
		r.unqueue(deed.Caller)
	case about(a.Kind) == holding && a.Kind != reducer.Commit && a.Kind != reducer.Renew:
		c.Standing = Late
		if a.Kind == reducer.Cancel && effects.Answer.Verdict == reducer.Done {
			r.forget(a.Permit, a.Cost)
		}
	}
	for _, e := range effects.Others {
		if e.Kind == reducer.Lapse {
			r.lapse(e)
			continue
		}
		if e.Kind != reducer.Grant && e.Kind != reducer.Drop || e.Caller == 0 || e.Caller > uint64(len(r.Callers)) {
			continue
		}
		r.unqueue(e.Caller)
		if e.Kind == reducer.Grant {
			who := &r.Callers[e.Caller-1]
			r.grant(who, who.Cost, e.Permit, at, remembers)
		}
	}
}

func (r *Room[S]) grant(c *Caller, cost uint32, p reducer.Permit, at clock.Mark, remembers bool) {
	if c != nil {
		*c = Caller{Standing: Holds, Cost: cost, Permit: p, Ticket: c.Ticket, Since: at}
	}
	if remembers {
		r.Recent = append(slices.Clip(r.Recent), Grant{at, cost, p})
	}
}

// unqueue ends the wait of a caller.
func (r *Room[S]) unqueue(id uint64) {
	r.Callers[id-1].Standing = Late
	if i := slices.Index(r.Queue, id); i >= 0 {
		r.Queue = slices.Delete(slices.Clone(r.Queue), i, i+1)
	}
}

func (r *Room[S]) lapse(e reducer.Effect) {
	for i := range r.Callers {
		c := &r.Callers[i]
		if c.Standing == Holds && c.Permit.Generation == e.Permit.Generation && c.Permit.ID == e.Permit.ID {
			c.Standing = Late
		}
	}
}

// forget removes a grant. Permits of different costs may have the same words.
func (r *Room[S]) forget(p reducer.Permit, cost uint32) {
	for i := range r.Recent {
		if g := &r.Recent[i]; g.Permit == p && g.Cost == cost {
			r.Recent = slices.Delete(slices.Clone(r.Recent), i, i+1)
			return
		}
	}
}
