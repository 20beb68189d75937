package fuzz

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/vectors"
	"github.com/sluice-go/sluice/wasm/abi"
)

// FuzzABI lets a host call anything with anything: each call is answered by a
// code, and the module works as before. A panic here is a trap of the wasm
// module.
func FuzzABI(f *testing.F) {
	policy := `{"steps":[{"timeout":"3s"},{"retry":3},{"breaker":{"window":{"consecutive":2},"open":"1s"}},{"limit":{"rate":"2/1s","wait":"1s","queue":2,"per":"key"}},{"bulkhead":{"concurrent":1,"queue":1,"lease":"1s"}}]}`
	f.Add([]byte(policy), []byte{0})
	for start := range byte(22) {
		script := []byte{}
		for n := range byte(60) {
			script = append(script, (start+n)%22, n*37, n*11, start, 3)
		}
		f.Add([]byte(policy), script)
	}
	f.Add([]byte(`{"steps":`), []byte{0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, document, script []byte) {
		h := &stranger{script: script}
		h.write(document)
		h.m.Body(uint32(len(document)))
		for len(h.script) > 0 {
			h.call()
		}
		// Whatever came before, a new limiter works.
		rate := []byte("\x00\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00") // 1 a nanosecond
		h.write(rate)
		maker := h.m.Limiter(uint32(len(rate)))
		cell := h.m.Cell(uint32(maker), 0)
		if h.m.Acquire(uint32(cell), 1, 0, 0) != int32(reducer.Admit) || h.m.Acquire(uint32(cell), 1, 0, 0) != int32(reducer.Reject) {
			t.Error("a new limiter does not limit")
		}
	})
}

// stranger is a host that does not know what it does.
type stranger struct {
	m      abi.Module
	script []byte
	seen   []uint32
}

func (h *stranger) write(src []byte) {
	if h.m.Reserve(uint32(len(src))) == 0 {
		copy(h.m.Buffer, src)
	}
}

func (h *stranger) byte() byte {
	if len(h.script) == 0 {
		return 0
	}
	b := h.script[0]
	h.script = h.script[1:]
	return b
}

// number is small as a rule, or a handle, or anything.
func (h *stranger) number() uint32 {
	b := h.byte()
	switch {
	case b < 100 && len(h.seen) > 0:
		return h.seen[int(b)%len(h.seen)]
	case b < 200:
		return uint32(b % 16)
	case b < 250:
		return uint32(b) * 131
	}
	return math.MaxUint32 - uint32(b-250)
}

func (h *stranger) float() float64 {
	b := h.byte()
	switch b {
	case 0, 1, 2, 3:
		return math.NaN()
	case 4:
		return math.Inf(1)
	case 5:
		return math.Inf(-1)
	case 6:
		return -1e300
	case 7:
		return float64(h.number())
	}
	return float64(b) * 100
}

func (h *stranger) keep(code int32) {
	if code > 0 {
		h.seen = append(h.seen, uint32(code))
	}
}

func (h *stranger) call() {
	m := &h.m
	s := &m.Slots
	if h.byte()%4 == 0 {
		s.Exact = uint32(h.byte()) & 3
		s.Now, s.Span = 1<<(h.byte()%64), 1<<(h.byte()%64)
		s.Permit = reducer.Permit{Generation: uint64(h.number()), ID: uint64(h.number())}
		s.Keys[h.byte()%16] = h.number()
		s.Attempt, s.Before = h.number(), int64(h.number())<<(h.byte()%32)
	}
	switch h.byte() % 30 {
	case 0, 1, 2:
		h.write(h.script)
		fallthrough
	case 3:
		h.keep([]func(uint32) int32{m.Limiter, m.Bulkhead, m.Breaker, m.Retry}[h.byte()%4](h.number()))
	case 4:
		h.keep(m.Cell(h.number(), h.float()))
	case 5, 6:
		m.Acquire(h.number(), h.number(), h.number(), h.float())
	case 7, 8, 9:
		m.Step(h.number(), h.number(), h.number(), h.number(), h.float())
	case 10:
		m.Pass(h.number(), h.float())
	case 11:
		m.Fresh(h.number(), h.float())
	case 12:
		m.Adopt(h.number(), h.number(), h.float())
	case 13:
		if size := m.State(h.number()); size > 0 {
			m.Restore(h.number(), uint32(size), h.float(), h.float())
		}
	case 14:
		m.Restore(h.number(), h.number(), h.float(), h.float())
	case 15:
		m.Free(h.number())
	case 16:
		h.write(append(binary.LittleEndian.AppendUint64(nil, uint64(h.number())), h.script...))
		m.Reduce(h.number(), h.number())
	case 17:
		h.keep(m.MakerOf(h.number(), h.number()))
	case 18:
		h.keep(m.Pipeline(h.number(), h.number(), h.number()))
	case 19, 20:
		m.Begin(h.number(), h.number(), h.number()%3, h.float(), h.float())
		h.keep(int32(s.Generation))
	case 21:
		m.Done(h.number(), s.Slot, s.Generation, h.number()%4, h.number(), h.float(), h.float())
	case 22:
		m.Cancel(h.number(), h.number(), h.number(), h.float())
	case 23:
		m.Renew(h.number(), h.number(), h.number(), h.number()%4, h.float())
	case 24:
		m.Advance(h.number(), h.float())
	case 25:
		m.Configure(h.number(), h.number(), h.float())
	case 26:
		if size := m.Save(h.number(), h.number(), h.number()); size > 0 {
			m.Load(h.number(), h.number(), h.number(), uint32(size), h.float(), h.float())
		}
	case 27:
		h.write(h.script)
		m.Batch(h.number(), uint32(len(h.script)))
	case 28:
		m.Next(h.number(), h.number(), h.float(), h.float(), h.float(), h.number(), h.number())
	case 29:
		m.Describe(h.number(), h.number())
		m.Uses(h.number(), h.number())
		m.Plan(h.number(), h.number())
	}
}

// FuzzVectors reads files of vectors that are none.
func FuzzVectors(f *testing.F) {
	f.Add(vectors.V1()[:1000])
	f.Add([]byte("SLUICEV1"))
	f.Fuzz(func(t *testing.T, src []byte) {
		if file, err := vectors.Decode(src); err == nil && file.Steps() < 1000 {
			_ = file.Replay(vectors.Native())
		}
	})
}
