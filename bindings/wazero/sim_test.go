//go:build !race

package sluicewazero

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/sluice-go/sluice/internal/randomscenario"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/report/lanes"
	"github.com/sluice-go/sluice/sim/scenario"
	"github.com/sluice-go/sluice/vectors"
	"github.com/sluice-go/sluice/wasm/abi"
	"github.com/sluice-go/sluice/wasm/abi/simulation"
)

// simulators makes instances of sim.wasm.
func simulators(t *testing.T) func() simulator {
	module, err := os.ReadFile("../../wasm/sim.wasm")
	if err != nil {
		t.Fatal(err)
	}
	code, err := Compile(t.Context(), WithBytes(module))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = code.Close() })
	return func() simulator {
		instance, err := code.runtime.InstantiateModule(t.Context(), code.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
		if err != nil {
			t.Fatal(err)
		}
		i, err := vectors.Wasm(&engine{module: instance, memory: instance.ExportedMemory("memory")})
		if err != nil {
			t.Fatal(err)
		}
		return simulator{t, i, instance}
	}
}

// simulator is an instance, which simulates one scenario.
type simulator struct {
	t *testing.T
	vectors.Instance
	instance api.Module
}

func (s simulator) call(export string, parameters ...uint64) int32 {
	code, err := s.Call(export, parameters...)
	if err != nil {
		s.t.Fatalf("%s: %v", export, err)
	}
	return code
}

// text is what the last call left in the buffer.
func (s simulator) text() string {
	return string(s.Buffer(binary.LittleEndian.Uint32(s.Slots()[unsafe.Offsetof(abi.Slots{}.Size):])))
}

// outputs of a run, by name, or the text of its error.
type outputs map[string]string

// prepare returns the code for a scenario.
func (s simulator) prepare(src []byte, client string, flags uint32, seed uint64) int32 {
	src = append([]byte(client), src...)
	s.call("buffer", uint64(len(src)))
	copy(s.Buffer(uint32(len(src))), src)
	return s.call("simulate", uint64(len(src)), uint64(len(client)), uint64(flags), seed&0xffffffff, seed>>32, 0, 2)
}

// simulate runs a scenario, some events at a time, and closes the instance.
func (s simulator) simulate(src []byte, client string, flags uint32, seed uint64, events uint32) outputs {
	defer s.instance.Close(s.t.Context())
	if s.prepare(src, client, flags, seed) < 0 {
		return outputs{"error": s.text()}
	}
	all := outputs{}
	for part := int32(0); part != simulation.Over; {
		next := s.call("run", uint64(events))
		if next < part {
			s.t.Fatalf("run returns %d after %d: %s, %d\n%s", next, part, s.text(), s.call("used"), src)
		}
		part = next
		for kind, name := range []string{"log", "events"} {
			s.call("take", uint64(kind))
			all[name] += s.text()
		}
	}
	for _, name := range []string{"result", "lanes"} {
		s.call(name)
		all[name] = s.text()
	}
	return all
}

// TestSimulatorVectors: sim.wasm gives the bytes that the native simulator gives.
func TestSimulatorVectors(t *testing.T) {
	src, err := os.ReadFile("../../sim/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Name, Client, Result, Lanes, Log, Events string
		Scenario                                 json.RawMessage
	}
	if err := json.Unmarshal(src, &all); err != nil || len(all) == 0 {
		t.Fatal(len(all), err)
	}
	open := simulators(t)
	for _, v := range all {
		flags := uint32(0)
		if v.Client != "" {
			flags = simulation.FlagLog | simulation.FlagEvents
		}
		got := open().simulate(v.Scenario, v.Client, flags, 0, 100_000)
		for name, want := range (outputs{"result": v.Result, "lanes": v.Lanes, "log": v.Log, "events": v.Events}) {
			if sum := sha256.Sum256([]byte(got[name])); hex.EncodeToString(sum[:]) != want {
				t.Errorf("%s: another %s: %.300s%s", v.Name, name, got[name], got["error"])
			}
		}
	}
}

// TestSimulatorAgrees: sim.wasm and the native simulator give the same bytes for random
// scenarios, and the same errors for those that are wrong.
func TestSimulatorAgrees(t *testing.T) {
	seed := testenv.Seed()
	t.Logf("SLUICE_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	open := simulators(t)
	for range testenv.Cases(40) {
		src := []byte(randomscenario.JSON(random, func(steps string) bool {
			_, err := policy.Parse("policy.json", []byte(`{"version":1,"policies":{"p":{"steps":`+steps+`}}}`))
			return err == nil || random.IntN(10) == 0
		}))
		want := native(t, src)
		got := open().simulate(src, "client-0", simulation.FlagLog|simulation.FlagEvents, 0, 1+random.Uint32N(5000))
		for _, name := range []string{"error", "result", "lanes", "log", "events"} {
			if got[name] != want[name] {
				t.Fatalf("another %s for %s:\n%.1000s\nwant\n%.1000s", name, src, got[name], want[name])
			}
		}
	}
}

func native(t *testing.T, src []byte) outputs {
	config, err := scenario.ParseJSON("scenario", src, nil)
	if err != nil {
		return outputs{"error": err.Error()}
	}
	var log, events bytes.Buffer
	r, err := sim.Run(config, sim.Options{Sample: 2, Client: "client-0", Log: &log, Events: &events})
	if err != nil {
		t.Fatal(err)
	}
	return outputs{
		"result": string(r.AppendJSON(nil)), "lanes": string(lanes.DataOf(r).AppendJSON(nil)), "log": log.String(), "events": events.String(),
	}
}

// TestSimulatorRefuses: what a host passes wrongly is answered by a code and a text.
func TestSimulatorRefuses(t *testing.T) {
	const src = `{"version":1,"duration":"1s","policies":{"p":{"steps":[{"limit":"1/s"}]}},` +
		`"clients":[{"name":"web","to":"vendor","policy":"p","arrivals":{"constant":"10/s"}}],"services":[{"name":"vendor","time":"1ms"}]}`
	open := simulators(t)
	s := open()
	s.call("buffer", uint64(len(src)))
	copy(s.Buffer(uint32(len(src))), src)
	for _, c := range []struct {
		export     string
		parameters []uint64
		code       int32
		text       string
	}{
		{"run", []uint64{1}, abi.BadHandle, "no scenario"},
		{"result", nil, abi.BadHandle, "the scenario is not over"},
		{"lanes", nil, abi.BadHandle, "the scenario is not over"},
		{"take", []uint64{9}, abi.BadArgument, "no such output"},
		{"simulate", []uint64{1 << 24, 0, 0, 0, 0, 0, 0}, abi.BadSize, "more bytes than the buffer has"},
		{"simulate", []uint64{2, 3, 0, 0, 0, 0, 0}, abi.BadSize, "more bytes than the buffer has"},
		{"simulate", []uint64{0, 0, 1 << 20, 0, 0, 0, 0}, abi.BadArgument, "no such flag, more than 10000 parts or 1000 samples"},
		{"simulate", []uint64{0, 0, 0, 0, 0, 10_001, 0}, abi.BadArgument, "no such flag, more than 10000 parts or 1000 samples"},
		{"simulate", []uint64{0, 0, 0, 0, 0, 0, 1_001}, abi.BadArgument, "no such flag, more than 10000 parts or 1000 samples"},
		{"simulate", []uint64{3, 0, 0, 0, 0, 0, 0}, abi.BadPolicy, "scenario:1:"},
	} {
		code := s.call(c.export, c.parameters...)
		if code != c.code || !strings.HasPrefix(s.text(), c.text) {
			t.Errorf("%s%v: %d, %q", c.export, c.parameters, code, s.text())
		}
	}
	if s.prepare([]byte(src), "other", simulation.FlagLog, 0); s.text() != "client: found other; allowed: web" {
		t.Error(s.text())
	}
	// After errors there is still a run, one.
	if code := s.prepare([]byte(src), "", 0, 0); code != 0 {
		t.Error(code)
	}
	if code := s.prepare([]byte(src), "", 0, 0); code != abi.BadArgument || s.text() != "an instance simulates one scenario: make another one" {
		t.Error(code, s.text())
	}
	// A seed in place of the scenario's, of 64 bits.
	const seed = 1<<63 + 5
	if got := open().simulate([]byte(src), "", simulation.FlagSeed, seed, 10); !strings.HasPrefix(got["result"], `{"seed":9223372036854775813,`) {
		t.Error(got)
	}
}

// TestSimulatorRefusesMemory: a scenario that needs more memory than the limit ends
// with a code.
func TestSimulatorRefusesMemory(t *testing.T) {
	s := simulators(t)()
	s.call("limit", 4<<20)
	code := s.prepare([]byte(`{"version":1,"duration":"100s","clients":[{"name":"web","to":"vendor","arrivals":{"constant":"50000/s"}}],`+
		`"services":[{"name":"vendor","time":"1h"}]}`), "", 0, 0)
	for n := 0; code >= 0 && code < simulation.Over && n < 1000; n++ {
		code = s.call("run", 1<<16)
	}
	if code != abi.NoMemory || s.text() != "the memory of the instance has reached its limit" {
		t.Fatal(code, s.text())
	}
}
