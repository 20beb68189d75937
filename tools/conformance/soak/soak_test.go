package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestChecks breaks one thing after another of a result, of which each check finds its own.
func TestChecks(t *testing.T) {
	o := options{span: 100 * time.Second}
	good := func() *result {
		r := &result{
			name: "sluice", places: "0, 0", honest: &crowd{}, limited: &crowd{}, admin: 1,
			before: usage{descriptors: 10, memory: 20e6, goroutines: 10}, early: usage{memory: 40e6},
			left: usage{descriptors: 10, memory: 45e6, goroutines: 9},
			open: []time.Duration{41 * time.Second, 62 * time.Second},
		}
		for i := range 100 {
			r.honest.all = append(r.honest.all, got{at: time.Duration(i) * 100 * time.Millisecond, code: 200, took: time.Second})
			r.limited.all = append(r.limited.all, got{code: 429, reason: "rate", took: time.Millisecond})
		}
		return r
	}
	failed := func(r *result) (all []int) {
		for i, c := range r.checks(o) {
			if !c.ok {
				all = append(all, i)
			}
		}
		return all
	}
	if all := failed(good()); all != nil {
		t.Fatalf("checks %v fail", all)
	}
	for i, harm := range []func(r *result){
		func(r *result) { r.limited.all[0].took, r.limited.all[1].took = time.Second, time.Second },
		func(r *result) { r.honest.all[0].code = 503 },
		func(r *result) { r.places = "1, 0" },
		func(r *result) { r.left.goroutines = 11 },
		func(r *result) { r.left.descriptors = 11 },
		func(r *result) { r.left.memory = 51e6 },
		func(r *result) { r.open = append(r.open, 64*time.Second) },
		func(r *result) { r.admin = 2 },
	} {
		r := good()
		harm(r)
		if all := failed(r); !slices.Equal(all, []int{i}) {
			t.Errorf("harm %d: checks %v fail", i, all)
		}
	}
}

// TestPlaces reads what is taken of the metrics of sluice serve.
func TestPlaces(t *testing.T) {
	metrics := map[string]float64{
		`sluice_free{policy="api",step="all"}`: 998, `sluice_free{policy="admin",step="limit"}`: 1, "sluice_http_requests_in_flight": 3,
	}
	if got := places(metrics); got != "2, 3" {
		t.Errorf("places: %q", got)
	}
}

// TestCrowdApart has a crowd come back from its process as it was.
func TestCrowdApart(t *testing.T) {
	want := []got{{at: time.Second, took: 3 * time.Millisecond, code: 429, reason: "rate"}, {at: 2 * time.Second, took: 1, code: 0}}
	var text bytes.Buffer
	if err := writeGot(&text, want); err != nil {
		t.Fatal(err)
	}
	if all, err := readGot(text.String()); err != nil || !slices.Equal(all, want) {
		t.Errorf("%v, %v", all, err)
	}
}

// TestRefusalsInside reads refusals of honest clients alone of an access log.
func TestRefusalsInside(t *testing.T) {
	file := filepath.Join(t.TempDir(), "access.log")
	text := `{"peer":"127.0.1.1:1","reason":"open","seconds":0.002}
{"peer":"127.0.1.2:1","reason":"rate","seconds":0.001}
{"peer":"127.0.1.1:1","seconds":5}
{"peer":"127.0.2.1:1","reason":"rate","seconds":6}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err := refusalsInside(file); err != nil || !slices.Equal(all, times{time.Millisecond, 2 * time.Millisecond}) {
		t.Errorf("%v, %v", all, err)
	}
}
