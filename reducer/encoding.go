package reducer

import (
	"encoding/binary"

	"github.com/sluice-go/sluice/clock"
)

// The sizes of the stable binary forms, in bytes. Integers are little-endian.
const (
	// PermitSize: generation, id, mark, 8 bytes each.
	PermitSize = 24
	// ActionSize: kind, outcome, priority, flags, cost in 4 bytes, the permit, the
	// value in 8 bytes.
	ActionSize = 8 + PermitSize + 8
	// AnswerSize: verdict, reason, changed (0 or 1), zero, free in 4 bytes, the
	// permit.
	AnswerSize = 8 + PermitSize
	// EffectSize: kind, reason, six bytes of zero, caller in 8 bytes, the permit.
	EffectSize = 16 + PermitSize
)

// AppendBytes appends the stable binary form of an action, ActionSize bytes.
func (a Action) AppendBytes(dst []byte) []byte {
	dst = append(dst, byte(a.Kind), byte(a.Outcome), a.Priority, a.flags)
	dst = appendPermitBytes(binary.LittleEndian.AppendUint32(dst, a.Cost), &a.Permit)
	return binary.LittleEndian.AppendUint64(dst, a.Value)
}

// DecodeAction reads what Action.AppendBytes wrote. Any other bytes give
// ErrEncoding.
func DecodeAction(src []byte) (Action, error) {
	if len(src) != ActionSize || src[3]&^(hasDeadline|noBlock) != 0 || src[2] > MaxPriority {
		return Action{}, ErrEncoding
	}
	return Action{
		Kind: Kind(src[0]), Outcome: Outcome(src[1]), Priority: src[2], flags: src[3],
		Cost: binary.LittleEndian.Uint32(src[4:]), Permit: decodePermit(src[8:]),
		Value: binary.LittleEndian.Uint64(src[8+PermitSize:]),
	}, nil
}

func decodePermit(src []byte) Permit {
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(src[8*i:]) }
	return Permit{Generation: word(0), ID: word(1), Mark: clock.Mark(word(2))}
}

// AppendBytes appends the stable binary form of the effects: the answer, how
// many others follow in 4 bytes, the others.
func (e Effects) AppendBytes(dst []byte) []byte {
	changed := byte(0)
	if e.Answer.Changed {
		changed = 1
	}
	dst = append(dst, byte(e.Answer.Verdict), byte(e.Answer.Reason), changed, 0)
	dst = appendPermitBytes(binary.LittleEndian.AppendUint32(dst, e.Answer.Free), &e.Answer.Permit)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(e.Others)))
	for i := range e.Others {
		o := &e.Others[i]
		dst = append(dst, byte(o.Kind), byte(o.Reason), 0, 0, 0, 0, 0, 0)
		dst = appendPermitBytes(binary.LittleEndian.AppendUint64(dst, o.Caller), &o.Permit)
	}
	return dst
}

// DecodeEffects reads what Effects.AppendBytes wrote. Any other bytes give
// ErrEncoding.
func DecodeEffects(src []byte) (Effects, error) {
	const head = AnswerSize + 4
	if len(src) < head || src[2] > 1 || src[3] != 0 {
		return Effects{}, ErrEncoding
	}
	e := Effects{Answer: Answer{
		Verdict: Verdict(src[0]), Reason: Reason(src[1]), Changed: src[2] == 1,
		Free: binary.LittleEndian.Uint32(src[4:]), Permit: decodePermit(src[8:]),
	}}
	n := binary.LittleEndian.Uint32(src[AnswerSize:])
	src = src[head:]
	if uint64(len(src)) != uint64(n)*EffectSize {
		return Effects{}, ErrEncoding
	}
	for ; len(src) > 0; src = src[EffectSize:] {
		for _, zero := range src[2:8] {
			if zero != 0 {
				return Effects{}, ErrEncoding
			}
		}
		e.Others = append(e.Others, Effect{
			Kind: EffectKind(src[0]), Reason: Reason(src[1]),
			Caller: binary.LittleEndian.Uint64(src[8:]), Permit: decodePermit(src[16:]),
		})
	}
	return e, nil
}

func appendPermitBytes(dst []byte, p *Permit) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, p.Generation)
	dst = binary.LittleEndian.AppendUint64(dst, p.ID)
	return binary.LittleEndian.AppendUint64(dst, uint64(p.Mark))
}
