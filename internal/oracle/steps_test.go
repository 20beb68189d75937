package oracle_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/internal/oracle"
	"github.com/sluice-go/sluice/internal/oracle/generate"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/reducer"
)

// TestSteps decides random logs with and without their steps, which changes no
// decision. New cells that take the steps one after another have the same effects and
// states.
func TestSteps(t *testing.T) {
	n, seed := testenv.Cases(2_000), testenv.Seed()
	if testing.Short() {
		n /= 20
	}
	t.Logf("SLUICE_SEED=%d, %d cases", seed, n)
	taken := 0
	for i := range n {
		p, events := generate.GenerateFor(rand.New(rand.NewPCG(seed, uint64(i))), seed)
		if slices.ContainsFunc(events, func(e oracle.Event) bool { return e.Op == "configure" }) {
			continue // cells adopt other configurations without a step
		}
		log := generate.EventsJSON(events)
		var steps, with, without bytes.Buffer
		for _, err := range []error{
			eval.Run(p, eval.Options{Seed: seed, Steps: &steps}, bytes.NewReader(log), &with),
			eval.Run(p, eval.Options{Seed: seed}, bytes.NewReader(log), &without),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if with.String() != without.String() {
			t.Fatalf("SLUICE_SEED=%d, case %d: other decisions with steps:\n%s\n%s\n%s", seed, i, generate.PolicyJSON(p), log, &with)
		}
		if slices.ContainsFunc(p.Steps, func(s pipeline.Step) bool { return s.Keys != 0 }) {
			continue // a key whose cell was evicted begins anew
		}
		if where, why := replay(t, p, steps.String()); why != "" {
			t.Fatalf("SLUICE_SEED=%d, case %d: %s\n%s%s\n%s\n%s", seed, i, why, where, generate.PolicyJSON(p), log, &steps)
		}
		taken += strings.Count(steps.String(), "\n")
	}
	if taken < n {
		t.Errorf("%d steps in %d cases", taken, n)
	}
}

// replay takes steps in new cells, and returns the first one that differs.
func replay(t *testing.T, p pipeline.Policy, steps string) (line, why string) {
	t.Helper()
	plan, err := pipeline.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	index := map[string]int{}
	for i := range plan.Len() {
		index[plan.StepName(i)] = i
	}
	type place struct{ cell, key string }
	cells := map[place]cell.Cell{}
	number := uint64(0)
	for line := range strings.Lines(steps) {
		want, err := reducer.ParseTrace(strings.TrimSuffix(line, "\n"))
		if err != nil {
			t.Fatal(err)
		}
		i, known := index[want.Cell]
		if number++; want.N != number || !known || len(plan.Per(i)) == 0 && want.Key != "" {
			return line, "wrong number, cell or key"
		}
		at := place{want.Cell, want.Key}
		c := cells[at]
		if c == nil {
			began := clock.Mark(0) // of a step's only cell
			if len(plan.Per(i)) > 0 {
				began = want.At
			}
			c = plan.Maker(i).New(began)
			cells[at] = c
		}
		var others reducer.Out
		answer := c.Step(want.Action, want.At, &others)
		got := reducer.Effects{Answer: answer, Others: others}
		if got.String() != want.Effects.String() || reducer.Digest(c.AppendState(nil)) != want.Digest {
			return line, "a new cell has " + got.String()
		}
	}
	return "", ""
}
