package oracle_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/internal/oracle"
	"github.com/sluice-go/sluice/internal/oracle/generate"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/policy"
)

// TestOracle compares the core with a second, naive implementation of the exact
// meaning on random policies and logs. Both get what the printed document and
// log say, so that parser and reader take part. SLUICE_SEED and SLUICE_TIMES
// ask for others and for more.
func TestOracle(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n /= 20
	}
	for d := range testenv.Draws(t, n) {
		seed, i := d.Seed, d.Case
		draw := generate.GenerateFor
		if i%40 == 0 {
			draw = generate.GeneratePassing
		}
		p, events := draw(rand.New(rand.NewPCG(seed, uint64(i))), seed)
		if compare(p, seed, events) == "" {
			continue
		}
		p, events = generate.Shrink(seed, p, events, func(p pipeline.Policy, events []oracle.Event) bool {
			return compare(p, seed, events) != ""
		})
		t.Fatalf("SLUICE_SEED=%d, case %d:\n%s\n%s\n%s", seed, i, generate.PolicyJSON(p), generate.EventsJSON(events), compare(p, seed, events))
	}
}

// TestOracleOfSeveral does so with several policies that share mechanisms.
func TestOracleOfSeveral(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n /= 20
	}
	for d := range testenv.Draws(t, n) {
		seed, i := d.Seed, d.Case
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		one, log := generate.GenerateFor(r, seed)
		all, events := generate.Spread(r, one, log)
		want, err := oracle.RunSet(all, seed, events)
		if err != nil {
			continue // two calls of one policy have one id
		}
		doc, err := policy.Parse("random.json", generate.SetJSON(all))
		if err != nil {
			t.Fatalf("SLUICE_SEED=%d, case %d: %v\n%s", seed, i, err, generate.SetJSON(all))
		}
		policies := make([]pipeline.Policy, len(doc.Policies))
		for i := range doc.Policies {
			policies[i] = doc.Policies[i].Policy
		}
		var out bytes.Buffer
		if err := eval.RunAll(policies, eval.Options{Seed: seed}, bytes.NewReader(generate.EventsJSON(events)), &out); err != nil {
			fmt.Fprintln(&out, err)
		}
		if why := differ(out.String(), want); why != "" {
			t.Fatalf("SLUICE_SEED=%d, case %d:\n%s\n%s\n%s", seed, i, generate.SetJSON(all), generate.EventsJSON(events), why)
		}
	}
}

var anyExample = regexp.MustCompile("(?ms)^```(?:log|ndjson)\n(.*?)^---\n(.*?)^```")

// TestOracleReference lets the naive implementation decide the worked examples of
// the reference pages.
func TestOracleReference(t *testing.T) {
	one := func(src []byte) (pipeline.Policy, error) {
		p, err := policy.ParseOne("reference", src)
		if err != nil {
			return pipeline.Policy{}, err
		}
		return p.Policy, nil
	}
	for page, least := range map[string]int{"eval/REFERENCE.md": 3, "policy/REFERENCE.md": 13} {
		examples := anyExample.FindAllStringSubmatch(load(t, page), -1)
		if len(examples) < least {
			t.Errorf("%s: %d examples", page, len(examples))
		}
		for _, example := range examples {
			var seed uint64
			if found := seeded.FindStringSubmatch(example[1]); found != nil {
				seed, _ = strconv.ParseUint(found[1], 10, 64)
			}
			events, want := split(example[2])
			policies, err := policiesOf([]byte(example[1]))
			if err != nil {
				t.Fatalf("%v\n%s", err, example[0])
			}
			log, err := generate.ReadEvents([]byte(events), one)
			if err != nil {
				t.Fatalf("%v\n%s", err, example[0])
			}
			var got []string
			if whole(example[1]) {
				got, err = oracle.RunSet(policies, seed, log)
			} else {
				got, err = oracle.Run(policies[0], seed, log)
			}
			if err != nil {
				t.Errorf("%v\n%s", err, example[0])
			}
			if got := strings.Join(got, "\n") + "\n"; got != want {
				t.Errorf("%s: got\n%swant\n%s", page, got, want)
			}
		}
	}
}

// compare returns the first difference between the core and the oracle, or
// nothing.
func compare(p pipeline.Policy, seed uint64, events []oracle.Event) string {
	want, err := oracle.Run(p, seed, events)
	if err != nil {
		return "oracle: " + err.Error()
	}
	doc, err := policy.Parse("random.json", generate.PolicyJSON(p))
	if err != nil {
		return "policy: " + err.Error()
	}
	var out bytes.Buffer
	if err := eval.Run(doc.Policies[0].Policy, eval.Options{Seed: seed}, bytes.NewReader(generate.EventsJSON(events)), &out); err != nil {
		fmt.Fprintln(&out, err)
	}
	return differ(out.String(), want)
}

// differ returns the first difference between what the core printed and the lines of the
// oracle, or nothing.
func differ(printed string, want []string) string {
	got := strings.Split(printed, "\n")
	got = got[:len(got)-1]
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			return fmt.Sprintf("decision %d\ncore:\n%s\noracle:\n%s", i, around(got, i), around(want, i))
		}
	}
	return ""
}

func around(lines []string, i int) string {
	return strings.Join(lines[max(0, min(i-3, len(lines))):min(i+3, len(lines))], "\n")
}
