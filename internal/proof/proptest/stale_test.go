package proptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/eval"
	slow "github.com/sluice-go/sluice/internal/oracle"
	"github.com/sluice-go/sluice/internal/oracle/generate"
)

// decided are the lines that eval prints for a log.
func decided(p pipeline.Policy, log []slow.Event) ([]string, error) {
	var out bytes.Buffer
	if err := eval.Run(p, eval.Options{}, bytes.NewReader(generate.EventsJSON(log)), &out); err != nil {
		return nil, err
	}
	return slices.Collect(strings.Lines(out.String())), nil
}

var evaluated = machine{name: "eval", logs: decided}

// uncounted is an eval that prints no line for a late end.
func uncounted(p pipeline.Policy, log []slow.Event) ([]string, error) {
	all, err := decided(p, log)
	return slices.DeleteFunc(all, isStale), err
}

func isStale(line string) bool { return strings.Contains(line, `"decision":"stale"`) }

// G13Log: an end that is late, a duplicate or of an unknown call is counted in its
// own line; all other decisions are as if only time had passed.
func G13Log(m machine, h history) error {
	p, _ := generate.Generate(rand.New(rand.NewPCG(h.word(0), 1)))
	var log, kept []slow.Event
	over := map[string]bool{}
	lines, counted := 0, 0
	for i, w := range h.steps()[:min(30, len(h.steps()))] {
		now := int64(0)
		if i > 0 {
			now = log[i-1].At
		}
		verb := pick(w, "call", "call", "call", "done", "done", "cancel", "tick", "renew")
		e := event(command{verb, w >> 3, int(w >> 58)}, now, i, p)
		log = append(log, e)
		all, err := m.logs(p, log)
		if err != nil {
			return fmt.Errorf("G13: %w", err)
		}
		ends := verb == "done" || verb == "cancel" || verb == "renew"
		isOver, known := over[e.ID]
		told := len(all) > lines && isStale(all[len(all)-1])
		if ends && (!known || isOver) {
			m.meet()
			if !told {
				return fmt.Errorf("G13: no line counts the late %s of %s", verb, e.ID)
			}
		}
		if told {
			counted++
			e = slow.Event{At: e.At, Op: "tick"}
		}
		kept = append(kept, e)
		if verb == "call" {
			over[e.ID] = false
		}
		for _, line := range all[lines:] {
			if id := endOf(line); id != "" {
				over[id] = true
			}
		}
		lines = len(all)
	}
	return m.unmoved(p, log, kept, counted)
}

// unmoved checks that a log with ticks in place of its late ends decides the same.
func (m machine) unmoved(p pipeline.Policy, log, kept []slow.Event, counted int) error {
	all, err := m.logs(p, log)
	if err != nil {
		return fmt.Errorf("G13: %w", err)
	}
	without, err := m.logs(p, kept)
	if err != nil {
		return fmt.Errorf("G13: %w", err)
	}
	if n := len(all); n-counted != len(without) || !slices.Equal(slices.DeleteFunc(all, isStale), without) {
		return fmt.Errorf("G13: %d lines, %d of them stale, without the late ends %d: %q, with them %q", n, counted, len(without), all, without)
	}
	return nil
}

// endOf returns the id of the call that a line ends, empty for none.
func endOf(line string) string {
	var d struct {
		ID       json.RawMessage
		Decision string
		Shadow   bool
	}
	if err := json.Unmarshal([]byte(line), &d); err != nil || d.Shadow {
		return ""
	}
	switch d.Decision {
	case "end", "reject", "expire":
		return string(d.ID)
	}
	return ""
}
