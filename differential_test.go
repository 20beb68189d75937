package sluice_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/internal/oracle"
	"github.com/sluice-go/sluice/internal/oracle/generate"
)

// TestRunnerAgreesWithEval runs random policies and logs through the concurrent
// runner, a goroutine for each call, and compares what happens to each call
// with what eval decides. Where the order of simultaneous things is ambiguous
// a difference is let pass, and counted.
func TestRunnerAgreesWithEval(t *testing.T) {
	cases, skipped := 4000, 0
	if testing.Short() {
		cases = 400
	}
	for i := range cases {
		rng := rand.New(rand.NewPCG(7, uint64(i)))
		p, events := generate.Generate(rng)
		if events[len(events)-1].At < int64(time.Millisecond) {
			continue // on a grid so fine that much coincides
		}
		p, events = suitable(rng, p, events)
		different, ambiguous := diverges(t, p, events)
		switch {
		case different == "":
		case ambiguous:
			skipped++
		default:
			p, events = generate.Shrink(0, p, events, func(p pipeline.Policy, events []oracle.Event) bool {
				different, ambiguous := diverges(t, p, events)
				return different != "" && !ambiguous
			})
			different, _ = diverges(t, p, events)
			t.Fatalf("case %d:\n%s\n%s\n%s", i, generate.PolicyJSON(p), generate.EventsJSON(events), different)
		}
	}
	t.Logf("%d cases, %d of them ambiguous and different", cases, skipped)
	require.Less(t, skipped, cases/20)
}

// diverges returns how the runner and eval differ on a log, or nothing, and
// whether the log is ambiguous.
func diverges(t *testing.T, p pipeline.Policy, events []oracle.Event) (different string, ambiguous bool) {
	want, ambiguous := evaluated(t, p, events)
	var got map[string][]string
	bubble(t, func(t *testing.T) { got = performed(t, p, events) })
	for _, e := range events {
		if id := e.ID; !slices.Equal(sorted(want[id]), sorted(got[id])) {
			return fmt.Sprintf("call %s, eval:\n%s\nrunner:\n%s", id, strings.Join(want[id], "\n"), strings.Join(got[id], "\n")), ambiguous
		}
	}
	return "", ambiguous
}

// sorted puts what a shadow step would have cut or dropped at the end, without
// its mark: a runner learns of it when the call next moves, at its end at the
// latest.
func sorted(lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	var exact, late []string
	for _, text := range lines {
		_, what, _ := strings.Cut(text, " ")
		shadow := strings.HasSuffix(what, " shadow")
		switch {
		case shadow && strings.HasPrefix(what, "expire"):
			// Who was cut at the very mark may have been told of it or not.
		case shadow && strings.HasPrefix(what, "timeout"):
			late = append(late, what)
		default:
			exact = append(exact, text)
		}
	}
	last := ""
	if len(exact) > 0 {
		_, last, _ = strings.Cut(exact[len(exact)-1], " ")
	}
	if !strings.HasPrefix(last, "end") && !strings.HasPrefix(last, "reject") && !strings.HasPrefix(last, "expire") {
		return exact
	}
	slices.Sort(late)
	return append(exact, late...)
}

// suitable makes a log that a runner can follow: each call has an id of its
// own, which is its key too, nothing is renewed, and events come off the grid
// so that few things coincide. Where the policy changes, calls draw no jitter:
// a runner numbers only those calls that might.
func suitable(rng *rand.Rand, p pipeline.Policy, events []oracle.Event) (pipeline.Policy, []oracle.Event) {
	last, unit := int64(0), events[len(events)-1].At/1000+10
	calm := slices.ContainsFunc(events, func(e oracle.Event) bool { return e.Op == "configure" })
	names := map[string]string{}
	var log []oracle.Event
	for _, e := range events {
		e.At = max(last, e.At+rng.Int64N(unit))
		last = e.At
		switch e.Op {
		case "renew":
			continue
		case "call":
			names[e.ID] = strconv.Itoa(len(log))
			attributes := map[string]string{"header:k": e.Key}
			for name, value := range e.Attributes {
				attributes[name] = value
			}
			e.Attributes = attributes
		case "configure":
			next := unkeyed(*e.Policy, calm)
			e.Policy = &next
		}
		if e.ID != "" {
			if e.ID = names[e.ID]; e.ID == "" {
				continue
			}
			e.Key = e.ID
		}
		if e.Op != "call" {
			e.Key = ""
		}
		log = append(log, e)
	}
	return unkeyed(p, calm), log
}

// unkeyed puts the header k in the place of the key, which names the call.
func unkeyed(p pipeline.Policy, calm bool) pipeline.Policy {
	p.Steps = slices.Clone(p.Steps)
	p.Fallback = nil
	for i := range p.Steps {
		s := &p.Steps[i]
		s.Per = slices.Clone(s.Per)
		for j, attribute := range s.Per {
			if attribute == "key" {
				s.Per[j] = "header:k"
			}
		}
		if b := &s.Retry.Backoff; s.Kind == pipeline.Retry && calm {
			b.Jitter, b.Share = backoff.NoJitter, 0
			if b.Kind == backoff.Decorrelated {
				b.Kind = backoff.Linear
			}
		}
	}
	return p
}

// decision is a line of the decision log.
type decision struct {
	At         string          `json:"at"`
	ID         json.RawMessage `json:"id"`
	Decision   string          `json:"decision"`
	Outcome    string          `json:"outcome"`
	Attempt    int             `json:"attempt"`
	Step       string          `json:"step"`
	Reason     string          `json:"reason"`
	Until      string          `json:"until"`
	RetryAfter string          `json:"retry_after"`
	Shadow     bool            `json:"shadow"`
}

// String is the line that a journal would have of the same decision.
func (d decision) String() string {
	text := d.At + " " + d.Decision
	if d.Attempt > 0 {
		text += fmt.Sprint(" ", d.Attempt)
	}
	for _, word := range []string{d.Step, d.Outcome, d.Reason} {
		if word != "" {
			text += " " + word
		}
	}
	switch {
	case d.Decision == "retry":
		text += " until " + d.Until
	case d.Decision == "reject" && d.RetryAfter != "":
		text += " after " + d.RetryAfter
	}
	if d.Shadow {
		text += " shadow"
	}
	return text
}

// evaluated returns eval's decisions by call, and whether at any mark several
// calls were due at once.
func evaluated(t *testing.T, p pipeline.Policy, events []oracle.Event) (calls map[string][]string, ambiguous bool) {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, eval.Run(p, eval.Options{}, bytes.NewReader(generate.EventsJSON(events)), &out))
	marks := map[string]bool{}
	for _, e := range events {
		marks[time.Duration(e.At).String()] = true
	}
	due := map[string]string{}
	calls = map[string][]string{}
	for text := range strings.Lines(out.String()) {
		var d decision
		require.NoError(t, json.Unmarshal([]byte(text), &d))
		if d.Decision == "stale" || d.Decision == "configured" || d.Decision == "lapse" {
			continue
		}
		id := string(d.ID)
		calls[id] = append(calls[id], d.String())
		if !marks[d.At] {
			if other := due[d.At]; other != "" && other != id {
				ambiguous = true
			}
			due[d.At] = id
		}
	}
	return calls, ambiguous
}
