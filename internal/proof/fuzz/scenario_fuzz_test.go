package fuzz

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/engine"
	"github.com/sluice-go/sluice/sim/goal"
)

// FuzzScenario gives any bytes to the reader of scenarios. What it refuses it explains;
// what it accepts runs, for some events: calls are conserved, the result is JSON, and
// eval decides the events of the first client as the simulator did.
func FuzzScenario(f *testing.F) {
	for _, pattern := range []string{"good/*.yaml", "bad/*.yaml", "runs/*.yaml"} {
		files, err := filepath.Glob(filepath.Join("../../../sim/testdata", pattern))
		if err != nil || len(files) == 0 {
			f.Fatal("no seeds: ", pattern, err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(src)
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := sim.Parse("scenario.yaml", src, nil)
		if err != nil {
			explained(t, err)
			return
		}
		if users(s) > 1000 {
			return
		}
		var log, events bytes.Buffer
		o := sim.Options{}
		if s.Clients[0].Policy != nil {
			o = sim.Options{Client: s.Clients[0].Name, Log: &log, Events: &events}
		}
		run, err := engine.Start(s, o)
		if err != nil {
			t.Fatal(err)
		}
		over := run.Advance(5000)
		r, err := run.Result()
		if err != nil {
			t.Fatal(err)
		}
		if text := r.AppendJSON(nil); !json.Valid(text) {
			t.Fatalf("no JSON: %s", text)
		}
		goal.Of(r)
		for _, c := range r.Clients {
			if c.Calls != c.OK+c.Failed+c.Refused+c.Unfinished {
				t.Fatalf("%d calls are not %d ok, %d failed, %d refused and %d unfinished", c.Calls, c.OK, c.Failed, c.Refused, c.Unfinished)
			}
		}
		if !over || o.Log == nil {
			return
		}
		var decided bytes.Buffer
		if err := eval.Run(s.Clients[0].Policy.Policy, eval.Options{Seed: s.Seed}, &events, &decided); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(log.Bytes(), decided.Bytes()) {
			t.Fatalf("the log is\n%s\neval decides\n%s", log.Bytes(), decided.Bytes())
		}
	})
}

// users returns the most users of a client.
func users(s *sim.Scenario) (most uint32) {
	for i := range s.Clients {
		most = max(most, s.Clients[i].Arrivals.Users)
	}
	return most
}
