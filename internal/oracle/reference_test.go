package oracle_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/core/pipeline"
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
		"eval/REFERENCE.md": 3, "policy/REFERENCE.md": 10, "docs/llm-clients.md": 2, "docs/multi-tenant.md": 5, "docs/rolling-out.md": 2,
		"docs/mechanisms/limit.md": 3,
	} {
		examples := example.FindAllStringSubmatch(load(t, page), -1)
		if len(examples) < least {
			t.Errorf("%s: %d examples", page, len(examples))
		}
		for _, one := range examples {
			policies, err := policiesOf([]byte(one[1]))
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
			decide := eval.RunAll
			if !whole(one[1]) {
				decide = func(list []pipeline.Policy, o eval.Options, in io.Reader, out io.Writer) error {
					return eval.Run(list[0], o, in, out)
				}
			}
			if err := decide(policies, o, strings.NewReader(events), &got); err != nil {
				t.Errorf("%v\n%s", err, one[0])
			}
			if got.String() != want {
				t.Errorf("%s: got\n%swant\n%s", page, got.String(), want)
			}
		}
	}
}

// load returns a page of the repository.
func load(t *testing.T, page string) string {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("../..", page))
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

// whole reports whether an example has a document, whose policies are decided together, and
// not the steps of one policy.
func whole(src string) bool { return strings.HasPrefix(src, "version:") }

// policiesOf returns the policies of an example.
func policiesOf(src []byte) (list []pipeline.Policy, err error) {
	if !whole(string(src)) {
		p, err := policy.ParseOne("example", src)
		if err != nil {
			return nil, err
		}
		return []pipeline.Policy{p.Policy}, nil
	}
	doc, err := policy.Parse("example.yaml", src)
	if err != nil {
		return nil, err
	}
	for _, p := range doc.Policies {
		list = append(list, p.Policy)
	}
	return list, nil
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
