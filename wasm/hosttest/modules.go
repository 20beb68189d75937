package hosttest

import (
	"errors"
	"testing"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/wasm/abi"
	"github.com/sluice-go/sluice/wasm/host"
)

// NoAllocations checks that a limiter allocates nothing, nor the calls of a
// policy where the decisions have room.
func NoAllocations(t *testing.T, open func() (*host.Module, error)) {
	m := Suite{Open: open}.open(t)
	c := value[*host.Cell](t)(value[*host.Maker](t)(m.Limiter(limiter.Config{Count: 1000, Period: 1e9})).Cell(0))
	p := pipelineOf(t, m, `{"steps":[{"limit":"1000/1s"},{"breaker":{}},{"bulkhead":9}]}`)
	now := clock.Mark(0)
	list := make([]decision.Decision, 0, 8)
	allocations := testing.AllocsPerRun(1000, func() {
		now += 1e6
		if ok, err := c.Allow(1, now); !ok || err != nil {
			t.Error(ok, err)
		}
		h, list, err := p.Begin(list, host.Request{Cost: 1, Deadline: -1}, now)
		if err != nil {
			t.Error(err)
		}
		if _, err := p.Done(list, h, host.Result{Outcome: reducer.OK}, now); err != nil {
			t.Error(err)
		}
	})
	if allocations > 0 {
		t.Errorf("%v allocations", allocations)
	}
}

// Exhaust makes pipelines until the memory of an instance is at its end: that is an
// error of the one that was not made, and those that exist work.
func Exhaust(t *testing.T, open func() (*host.Module, error)) {
	m := Suite{Open: open}.open(t)
	plan := value[*host.Plan](t)(m.Body([]byte(`{"steps":[{"bulkhead":{"concurrent":1000}},{"breaker":{"window":{"calls":10000}}}]}`)))
	var all []*host.Pipeline
	var err error
	for range 100_000 {
		var p *host.Pipeline
		if p, err = m.Pipeline(plan, 0); err != nil {
			break
		}
		all = append(all, p)
	}
	var full *host.Error
	if !errors.As(err, &full) || full.Code != abi.NoMemory || len(all) == 0 {
		t.Fatalf("got %v after %d pipelines", err, len(all))
	}
	for _, p := range all {
		h, list, err := p.Begin(nil, host.Request{Cost: 1, Deadline: -1}, 0)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		if _, err := p.Done(nil, h, host.Result{Outcome: reducer.Fail}, 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range all {
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	pipelineOf(t, m, `{"steps":[{"limit":"1/s"}]}`)
	if m.Lost() != nil {
		t.Error(m.Lost())
	}
}

// Misfits returns modules that are not Sluice's, by what is wrong with them.
func Misfits() map[string][]byte {
	return map[string][]byte{
		"no wasm":         []byte("no"),
		"empty":           module(),
		"no memory":       module(types, functions, exports(false), code(abi.Version)),
		"no exports":      module(types, functions, memory, section(7, 1, 6, 'm', 'e', 'm', 'o', 'r', 'y', 2, 0), code(abi.Version)),
		"another version": module(types, functions, memory, exports(true), code(abi.Version+1)),
		"other types":     module(types, section(3, 5, 0, 1, 1, 1, 1), memory, exports(true), code(abi.Version)),
		"an import":       module(types, section(2, 1, 1, 'e', 1, 'f', 0, 0)),
		"slots outside":   module(types, functions, memory, exports(true), code(abi.Version)),
	}
}

// The parts of a module in the binary format of wasm: functions _initialize, abi,
// slots, buffer and free, of which the second and third return a number.
var (
	types     = section(1, 3, 0x60, 0, 0, 0x60, 0, 1, 0x7f, 0x60, 1, 0x7f, 1, 0x7f)
	functions = section(3, 5, 0, 1, 1, 2, 2)
	memory    = section(5, 1, 0, 0)
)

func module(sections ...[]byte) []byte {
	all := []byte{0, 'a', 's', 'm', 1, 0, 0, 0}
	for _, s := range sections {
		all = append(all, s...)
	}
	return all
}

func section(id byte, content ...byte) []byte {
	return append([]byte{id, byte(len(content))}, content...)
}

func exports(withMemory bool) []byte {
	content := []byte{5}
	for i, name := range []string{"_initialize", "abi", "slots", "buffer", "free"} {
		content = append(append(append(content, byte(len(name))), name...), 0, byte(i))
	}
	if withMemory {
		content[0]++
		content = append(append(append(content, 6), "memory"...), 2, 0)
	}
	return section(7, content...)
}

// code has functions that return a number, but for the first.
func code(number byte) []byte {
	content := []byte{5, 2, 0, 0x0b}
	for range 4 {
		content = append(content, 4, 0, 0x41, number, 0x0b)
	}
	return section(10, content...)
}
