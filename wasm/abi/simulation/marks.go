package simulation

import (
	"encoding/binary"

	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/sim/engine"
)

// MarkSize is the size of a mark in bytes: its kind and the mode in one byte each, two
// names in two bytes each and two zeros, its time and a duration in eight bytes each.
// A name is its line in OutputNames, from 0.
const MarkSize = 24

// The kinds of marks.
const (
	// MarkCall: a client, the first name, makes a call.
	MarkCall = iota + 1
	// MarkArrival: a request for the client arrives at the service, the second name.
	MarkArrival
	// MarkOK: a call of the client has ended ok. The duration is its latency.
	MarkOK
	// MarkChange: a breaker of the client, the step of the second name, changes to the
	// mode.
	MarkChange
	// MarkFault: a fault of the service, the second name, begins.
	MarkFault
)

// marks writes what happens in a run.
type marks struct {
	outputs *[outputs]output
	names   map[string]uint16
}

func (m *marks) observe(e *engine.Event) {
	var kind, mode byte
	first, second, took := e.Client, "", int64(0)
	switch {
	case e.Kind == engine.EventCall:
		kind = MarkCall
	case e.Kind == engine.EventArrival:
		kind, second = MarkArrival, e.Service
	case e.Kind == engine.EventEnd && !e.Refused && e.Outcome == reducer.OK:
		kind, took = MarkOK, int64(e.At.Sub(e.Began))
	case e.Kind == engine.EventDecision && e.Decision.Kind == decision.Change:
		kind, mode, first, second = MarkChange, byte(e.Decision.Mode), e.Process, e.Decision.Step
	case e.Kind == engine.EventFault:
		kind, second = MarkFault, e.Service
	default:
		return
	}
	to := &m.outputs[OutputMarks]
	*to = append(*to, kind, mode)
	*to = binary.LittleEndian.AppendUint16(*to, m.name(first))
	*to = binary.LittleEndian.AppendUint16(*to, m.name(second))
	*to = append(*to, 0, 0)
	*to = binary.LittleEndian.AppendUint64(*to, uint64(e.At))
	*to = binary.LittleEndian.AppendUint64(*to, uint64(took))
}

// name returns the number of a name.
func (m *marks) name(text string) uint16 {
	n, ok := m.names[text]
	if !ok {
		n = uint16(len(m.names))
		m.names[text] = n
		m.outputs[OutputNames] = append(append(m.outputs[OutputNames], text...), '\n')
	}
	return n
}
