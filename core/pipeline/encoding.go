package pipeline

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/wire"
	"github.com/sluice-go/sluice/reducer"
)

// tag is the tag of a call in the header of its bytes.
const tag = 'C'

// MaxTries is the most attempts of a round: the first one and its hedges.
const MaxTries = hedge.MaxHedges + 1

// AppendCall appends the stable binary form of a call: the header, whose digest is
// the digest of the plan's shape, the fields of the call in order, the steps that apply to it where
// these vary, the costs of steps that have
// their own, what was used, its attempt, and the attempts of a hedged round.
func (p *Plan) AppendCall(dst []byte, c *Call) []byte {
	w := wire.Writer(dst, tag, p.shape())
	p.codeCall(&w, c)
	return w.Bytes()
}

// DecodeCall reads what AppendCall of a plan of the same shape wrote. Any other bytes
// give an error that wraps reducer.ErrEncoding; then the call is undefined.
func (p *Plan) DecodeCall(src []byte) (*Call, error) {
	r := wire.Reader(src, tag, p.shape())
	c := &Call{}
	p.codeCall(&r, c)
	if err := r.Close(); err != nil {
		return nil, err
	}
	if !p.sound(c) {
		return nil, wire.Broken(errCall)
	}
	return c, nil
}

var errCall = wire.Invalid("call: phases, steps and attempts do not agree")

// shape sums up what the bytes of a call depend on: the mechanisms of the steps, which
// have a cost of their own, which settle, and which take the retry-after of an answer.
func (p *Plan) shape() uint32 {
	d := wire.NewDigest
	for i := range p.stages {
		d = d.Add(uint64(p.stages[i].kind))
	}
	if p.with(mechanism.Costs) != 0 || p.with(mechanism.Settles) != 0 {
		d = d.Add(uint64(p.with(mechanism.Costs)) | uint64(p.with(mechanism.Settles))<<16)
	}
	if p.with(mechanism.Obeys) != 0 {
		d = d.Add(uint64(p.with(mechanism.Obeys)) << 32)
	}
	if p.Varies() {
		d = d.Add(uint64(p.with(mechanism.Conditional)) | uint64(p.with(mechanism.Partial))<<16 | 1<<63)
	}
	return uint32(d)
}

func (p *Plan) codeCall(w *wire.Coder, c *Call) {
	for _, m := range [...]*clock.Mark{&c.Deadline, &c.First, &c.Round} {
		w.Mark(m)
	}
	w.U64(&c.Seed)
	w.Span(&c.Retry.Before)
	for _, v := range [...]*uint32{&c.Retry.Attempt, &c.Cost, &c.Admitted, &c.Cut} {
		w.U32(v)
	}
	for _, v := range [...]*bool{&c.Single, &c.NoRetry, &c.NoHedge, &c.Barred, &c.Late} {
		w.Bool(v)
	}
	c.Shadows = p.codeApplied(w, c)
	if w.Reads() && p.with(mechanism.Costs) != 0 {
		c.Costs = new([MaxSteps]uint32)
	}
	for left := p.with(mechanism.Costs); left != 0; left &= left - 1 {
		w.U32(&c.Costs[lowest(left)])
	}
	if p.with(mechanism.Settles) != 0 {
		if w.Reads() {
			c.Used = new([MaxSteps]uint64)
		}
		spent := uint32(c.Spent)
		w.U32(&spent)
		c.Spent = uint16(spent)
		for left := p.with(mechanism.Settles); left != 0; left &= left - 1 {
			w.U64(&c.Used[lowest(left)])
		}
	}
	c.Attempt.code(w, p.with(mechanism.Obeys) != 0)
	if p.hedge < 0 {
		return
	}
	if w.Reads() {
		c.Race = &Race{}
	}
	c.Race.code(w, p.with(mechanism.Obeys) != 0)
}

// codeApplied codes which steps apply to the call, and returns which enforce nothing for
// it.
func (p *Plan) codeApplied(w *wire.Coder, c *Call) uint16 {
	if !p.Varies() {
		return p.with(mechanism.Shadow)
	}
	masks := uint32(c.Skips) | uint32(c.Shadows)<<16
	w.U32(&masks)
	w.Bool(&c.Allowed)
	c.Skips = uint16(masks)
	return uint16(masks >> 16)
}

func (r *Race) code(w *wire.Coder, obeys bool) {
	w.Mark(&r.HedgeAt)
	for _, v := range [...]*uint32{&r.Numbered, &r.Left, &r.Won, &r.last} {
		w.U32(v)
	}
	w.Span(&r.retryAfter)
	how := &r.closing
	for _, v := range [...]*bool{&r.told, &r.pushback, &how.tells, &how.retry} {
		w.Bool(v)
	}
	do, step := uint8(how.effect.Do), &how.effect.Step
	for _, v := range [...]*uint8{(*uint8)(&how.votes), &do, (*uint8)(&how.effect.Outcome), (*uint8)(&how.effect.Reason), step} {
		w.U8(v)
	}
	how.effect.Do = Do(do)
	w.Mark(&how.effect.At)
	n := uint32(len(r.Attempts))
	w.U32(&n)
	switch {
	case w.Reads() && n > MaxTries:
		w.Fail(errCall)
	case w.Reads():
		r.Attempts = make([]Attempt, n)
	}
	for i := range r.Attempts {
		r.Attempts[i].code(w, obeys)
	}
}

// code codes the slots of the steps that were passed alone, and the retry-after where a
// step takes it.
func (a *Attempt) code(w *wire.Coder, obeys bool) {
	if obeys {
		w.Span(&a.After)
	}
	w.Mark(&a.Started)
	w.Mark(&a.Until)
	w.U32(&a.Number)
	masks := uint32(a.Held) | uint32(a.Phantom)<<16
	fired := uint32(a.Fired)
	w.U32(&masks)
	w.U32(&fired)
	a.Held, a.Phantom, a.Fired = uint16(masks), uint16(masks>>16), uint16(fired)
	for _, v := range [...]*uint8{(*uint8)(&a.Phase), &a.At, &a.Entered, (*uint8)(&a.Outcome)} {
		w.U8(v)
	}
	for i := range min(int(a.Entered), MaxSteps) {
		slot := &a.Slots[i]
		w.U64(&slot.Generation)
		w.U64(&slot.ID)
		w.Mark(&slot.Mark)
	}
}

// sound reports whether a driver may continue the call.
func (p *Plan) sound(c *Call) bool {
	tries := uint8(0)
	if c.Race != nil {
		tries = uint8(len(c.Race.Attempts))
	}
	racing := c.Phase == Racing || c.Phase == Settling
	if racing && tries == 0 || (c.Phase == Deciding || c.Phase == Sleeping) && p.retry < 0 {
		return false
	}
	for k := range tries + 1 {
		a := c.Try(k)
		entered := int(a.Entered)
		switch {
		case a.Phase > Over || k > 0 && (a.Phase == Racing || a.Phase == Deciding || a.Phase == Sleeping || a.Phase == Settling):
			return false
		case entered > len(p.stages) || k == 0 && p.hedge >= 0 && entered > p.hedge+1:
			return false
		case (a.Held|a.Phantom)>>entered != 0 || (a.Held|a.Phantom)&^p.with(mechanism.Asks) != 0 || a.Held&a.Phantom != 0:
			return false
		case a.Phase == Waiting && (int(a.At) >= entered || p.with(mechanism.Asks)&(1<<a.At) == 0):
			return false
		case c.Skips>>len(p.stages) != 0 || (c.Shadows^p.with(mechanism.Shadow))&^p.with(mechanism.Partial) != 0:
			return false
		case a.Outcome > reducer.Cancelled || c.Spent&^p.with(mechanism.Settles) != 0:
			return false
		}
	}
	return true
}
