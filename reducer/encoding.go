package reducer

import (
	"encoding/binary"

	"github.com/sluice-go/sluice/clock"
)

// The sizes of the stable binary forms, in bytes. Integers are little-endian.
const (
	// PermitSize: generation, id, mark, 8 bytes each.
	PermitSize = 24
	// ActionSize: kind, outcome, two bytes of zero, cost in 4 bytes, the permit.
	ActionSize = 8 + PermitSize
	// AnswerSize: verdict, reason, two bytes of zero, free in 4 bytes, the permit.
	AnswerSize = 8 + PermitSize
	// EffectSize: kind, reason, six bytes of zero, caller in 8 bytes, the permit.
	EffectSize = 16 + PermitSize
)

// AppendBytes appends the stable binary form of an action, ActionSize bytes.
func (a Action) AppendBytes(dst []byte) []byte {
	dst = append(dst, byte(a.Kind), byte(a.Outcome), 0, 0)
	return appendPermitBytes(binary.LittleEndian.AppendUint32(dst, a.Cost), &a.Permit)
}

// DecodeAction reads what Action.AppendBytes wrote. Any other bytes give
// ErrEncoding.
func DecodeAction(src []byte) (Action, error) {
	if len(src) != ActionSize || src[2] != 0 || src[3] != 0 {
		return Action{}, ErrEncoding
	}
	a := Action{Kind: Kind(src[0]), Outcome: Outcome(src[1]), Cost: binary.LittleEndian.Uint32(src[4:])}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(src[8+8*i:]) }
	a.Permit = Permit{Generation: word(0), ID: word(1), Mark: clock.Mark(word(2))}
	return a, nil
}

// AppendBytes appends the stable binary form of the effects: the answer, how
// many others follow in 4 bytes, the others.
func (e Effects) AppendBytes(dst []byte) []byte {
	dst = append(dst, byte(e.Answer.Verdict), byte(e.Answer.Reason), 0, 0)
	dst = appendPermitBytes(binary.LittleEndian.AppendUint32(dst, e.Answer.Free), &e.Answer.Permit)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(e.Others)))
	for i := range e.Others {
		o := &e.Others[i]
		dst = append(dst, byte(o.Kind), byte(o.Reason), 0, 0, 0, 0, 0, 0)
		dst = appendPermitBytes(binary.LittleEndian.AppendUint64(dst, o.Caller), &o.Permit)
	}
	return dst
}

func appendPermitBytes(dst []byte, p *Permit) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, p.Generation)
	dst = binary.LittleEndian.AppendUint64(dst, p.ID)
	return binary.LittleEndian.AppendUint64(dst, uint64(p.Mark))
}
