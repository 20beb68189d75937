package eval_test

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/policy"
)

var (
	example = regexp.MustCompile("(?ms)^```log\n(.*?)^---\n(.*?)^```")
	seeded  = regexp.MustCompile(`(?m)^# --seed (\d+)$`)
)

// TestReference decides the worked examples of the reference pages and of the guides:
// the steps of a policy, and a log of events and decisions.
func TestReference(t *testing.T) {
	for page, least := range map[string]int{
		"REFERENCE.md": 3, "../policy/REFERENCE.md": 10, "../docs/llm-clients.md": 2, "../docs/multi-tenant.md": 5, "../docs/rolling-out.md": 2,
		"../docs/mechanisms/limit.md": 3,
	} {
		examples := example.FindAllStringSubmatch(string(load(t, page)), -1)
		if len(examples) < least {
			t.Errorf("%s: %d examples", page, len(examples))
		}
		for _, one := range examples {
			p, err := policy.ParseOne(page, []byte(one[1]))
			if err != nil {
				t.Errorf("%v\n%s", err, one[0])
				continue
			}
			var o eval.Options
			if seed := seeded.FindStringSubmatch(one[1]); seed != nil {
				if o.Seed, err = strconv.ParseUint(seed[1], 10, 64); err != nil {
					t.Errorf("%v\n%s", err, one[0])
				}
			}
			events, want := split(one[2])
			var got bytes.Buffer
			if err := eval.Run(p.Policy, o, strings.NewReader(events), &got); err != nil {
				t.Errorf("%v\n%s", err, one[0])
			}
			if got.String() != want {
				t.Errorf("%s: got\n%swant\n%s", page, got.String(), want)
			}
		}
	}
}

// split returns the events of a log and its decisions.
func split(log string) (events, decisions string) {
	for line := range strings.Lines(log) {
		if strings.Contains(line, `"op":`) {
			events += line
		} else {
			decisions += line
		}
	}
	return events, decisions
}
