package replay

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/internal/oracle"
	"github.com/sluice-go/sluice/internal/oracle/generate"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/policy"
)

// logged decides a log and returns its events with the decisions behind each, and the
// decisions alone, without those about no call.
func logged(t *testing.T, p pipeline.Policy, seed uint64, events []oracle.Event) (log string, decisions []string) {
	t.Helper()
	log, decisions, err := loggedBy(t, oracle.New(p, seed), events)
	require.NoError(t, err)
	return log, decisions
}

// loggedBy is logged by an engine. The error is the error of an event.
func loggedBy(t *testing.T, engine *oracle.Engine, events []oracle.Event) (log string, decisions []string, err error) {
	t.Helper()
	seen := 0
	add := func() {
		for _, line := range engine.Lines()[seen:] {
			log += line + "\n"
			if !strings.Contains(line, `"decision":"stale"`) {
				decisions = append(decisions, line)
			}
		}
		seen = len(engine.Lines())
	}
	for _, e := range events {
		// What is due comes before the event.
		require.NoError(t, engine.Apply(oracle.Event{At: e.At, Op: "tick"}))
		add()
		log += string(generate.EventsJSON([]oracle.Event{e}))
		if err := engine.Apply(e); err != nil {
			return "", nil, err
		}
		add()
	}
	return log, decisions, nil
}

// TestReplayIsEval replays random logs, with their decisions, under the policy that decided
// them: the ends of attempts are then made of their durations, and all decisions are the
// same. Verbatim, the decisions are the same without the decisions of the log as well.
func TestReplayIsEval(t *testing.T) {
	cases, seed := testenv.Cases(3_000), testenv.Seed()
	if testing.Short() {
		cases /= 10
	}
	t.Logf("SLUICE_SEED=%d, %d cases", seed, cases)
	refused := 0
	for i := range cases {
		p, events := generate.GenerateFor(rand.New(rand.NewPCG(seed, uint64(i))), seed)
		if slices.ContainsFunc(events, func(e oracle.Event) bool { return e.Op == "configure" }) {
			continue // which is the policy's, not the recording's
		}
		log, want := logged(t, p, seed, events)
		var bare string
		for line := range strings.Lines(log) {
			if strings.Contains(line, `"op":`) {
				bare += line
			}
		}
		document, err := policy.Parse("p.json", generate.PolicyJSON(p))
		require.NoError(t, err)
		for _, src := range []string{log, bare} {
			rec, err := Read([]File{{"log", strings.NewReader(src)}}, Options{Strict: true})
			require.NoError(t, err, src)
			var out bytes.Buffer
			run := &Run{Recording: rec, Deciders: Under(document, ""), Seed: seed, Log: &out, Verbatim: rec.Verbatim()}
			result, err := run.Do()
			require.NoError(t, err)
			got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if out.Len() == 0 {
				got = nil
			}
			for n := range max(len(want), len(got)) {
				if n >= len(want) || n >= len(got) || want[n] != got[n] {
					require.Equal(t, want[max(0, n-2):min(len(want), n+3)], got[min(len(got), max(0, n-2)):min(len(got), n+3)],
						"SLUICE_SEED=%d, case %d, verbatim %t:\n%s\n%s", seed, i, rec.Verbatim(), generate.PolicyJSON(p), src)
				}
			}
			x := result.Recorded(1)
			assert.Zero(t, x.NowRefused+x.NowAdmitted+x.OtherStep+x.OtherOutcome, src)
			refused += result.Refused
			assert.LessOrEqual(t, result.Admitted+result.Refused, result.Calls, "a call counts once:\n%s", src)
		}
	}
	assert.Greater(t, refused, cases/10)
}

// TestExplainAgrees explains each call of random logs: its verdict is the one of the log, and
// a refusal has a step and a remedy.
func TestExplainAgrees(t *testing.T) {
	cases, seed := testenv.Cases(300), testenv.Seed()
	t.Logf("SLUICE_SEED=%d, %d cases", seed, cases)
	because := 0
	for i := range cases {
		p, events := generate.GenerateFor(rand.New(rand.NewPCG(seed, uint64(i))), seed)
		log, _ := logged(t, p, seed, events)
		document, err := policy.Parse("p.json", generate.PolicyJSON(p))
		require.NoError(t, err)
		rec, err := Read([]File{{"log", strings.NewReader(log)}}, Options{Strict: true})
		require.NoError(t, err, log)
		for n := range rec.Calls {
			story, err := Explain(&Run{Recording: rec, Deciders: Under(document, ""), Seed: seed}, n)
			require.NoError(t, err)
			place := "SLUICE_SEED=%d, case %d, call %s:\n%s\n%s"
			require.Equal(t, rec.Calls[n].Was.String(), story.Verdict, place, seed, i, story.ID, generate.PolicyJSON(p), log)
			require.Empty(t, story.Recorded)
			require.NotEmpty(t, story.Moments, place, seed, i, story.ID, generate.PolicyJSON(p), log)
			require.Equal(t, rec.Calls[n].Was.Refused, story.Remedy != "", place, seed, i, story.ID, generate.PolicyJSON(p), log)
			var decided []string
			for _, m := range story.Moments {
				decided = append(decided, m.Decisions...)
			}
			for _, line := range decided {
				require.Contains(t, log, line+"\n", place, seed, i, story.ID, generate.PolicyJSON(p), log)
			}
			if story.Because != "" {
				because++
			}
		}
	}
	assert.Greater(t, because, cases/10)
}

// TestEventsOfReplay replays random logs under other random policies: eval decides the events
// of a replay as the replay did.
func TestEventsOfReplay(t *testing.T) {
	cases, seed := testenv.Cases(300), testenv.Seed()
	t.Logf("SLUICE_SEED=%d, %d cases", seed, cases)
	for i := range cases {
		p, events := generate.GenerateFor(rand.New(rand.NewPCG(seed, uint64(i))), seed)
		other, _ := generate.GenerateFor(rand.New(rand.NewPCG(seed, uint64(i+1))), seed)
		log, _ := logged(t, p, seed, events)
		document, err := policy.Parse("p.json", generate.PolicyJSON(other))
		require.NoError(t, err)
		rec, err := Read([]File{{"log", strings.NewReader(log)}}, Options{Strict: true})
		require.NoError(t, err, log)
		var want, lines, got bytes.Buffer
		_, err = (&Run{Recording: rec, Deciders: Under(document, ""), Seed: seed, Log: &want, Events: &lines}).Do()
		require.NoError(t, err)
		place := "SLUICE_SEED=%d, case %d:\n%s\n%s"
		require.NoError(t, eval.Run(other, eval.Options{Seed: seed}, bytes.NewReader(lines.Bytes()), &got), place, seed, i, generate.PolicyJSON(other), lines.String())
		require.Equal(t, want.String(), got.String(), place, seed, i, generate.PolicyJSON(other), lines.String())
	}
}

// TestExplainOfSeveral explains a refusal in a trace of two policies: the calls of the other
// policy did not lead to it.
func TestExplainOfSeveral(t *testing.T) {
	const header = `{"trace":1,"policy":%q,"prefixed":true,"seed":"1","body":{"steps":[{"limit":{"rate":"1/1m","name":"limit"}}]}}` + "\n"
	log := fmt.Sprintf(header, "a") + fmt.Sprintf(header, "b")
	for _, id := range []string{"a/1", "b/1", "b/2"} {
		log += fmt.Sprintf(`{"at":"0s","op":"call","id":%q}`+"\n", id)
	}
	rec, err := Read([]File{{"trace", strings.NewReader(log)}}, Options{Strict: true})
	require.NoError(t, err)
	target, err := rec.Find("b/2")
	require.NoError(t, err)
	story, err := Explain(&Run{Recording: rec, Deciders: Own()}, target)
	require.NoError(t, err)
	assert.Equal(t, "refused by limit (rate)", story.Verdict)
	assert.Equal(t, []Earlier{{At: "0s", ID: "b/1", What: "admitted, cost 1"}}, story.Earlier)
}

// TestFindByRequest finds calls by the id of their request: in a trace that has the
// attribute, in access logs with the names of several servers, the last one of several. An
// id of a call comes first.
func TestFindByRequest(t *testing.T) {
	const at = `{"time":"2026-11-22T09:30:00Z","status":200,`
	for text, want := range map[string]string{
		`{"at":0,"op":"call","id":7,"attributes":{"header:x-request-id":"r-1"}}`: "7",
		`{"at":0,"op":"call","id":7,"attributes":{"header:x-request-id":"r-1"}}` + "\n" +
			`{"at":0,"op":"call","id":8,"attributes":{"header:x-request-id":"r-1"}}`: "8",
		`{"at":0,"op":"call","id":"r-1"}` + "\n" +
			`{"at":0,"op":"call","id":8,"attributes":{"header:x-request-id":"r-1"}}`: `"r-1"`,
		at + `"request_id":"r-1"}`: "1",
		at + `"path":"/"}` + "\n" + at + `"request":{"headers":{"X-Request-Id":["r-1"]}}}`: "2",
	} {
		rec, err := Read([]File{{"log", strings.NewReader(text)}}, Options{Strict: true})
		require.NoError(t, err, text)
		found, err := rec.Find("r-1")
		require.NoError(t, err, text)
		assert.Equal(t, want, rec.Calls[found].ID, text)
		_, err = rec.Find("r-2")
		assert.Error(t, err, text)
	}
}

func TestAccessTimes(t *testing.T) {
	for text, want := range map[string]string{
		"2026-11-22T09:30:00Z":       "2026-11-22T09:30:00Z true",
		"2026-11-22T09:30:00.5Z":     "2026-11-22T09:30:00.5Z false",
		"22/Nov/2026:10:30:00 +0100": "2026-11-22T09:30:00Z true",
		"1795339800":                 "2026-11-22T09:30:00Z true",
		"1795339800.000000001":       "2026-11-22T09:30:00.000000001Z false",
		"1795339800.12345678912":     "2026-11-22T09:30:00.123456789Z false",
		"1795339800123":              "2026-11-22T09:30:00.123Z false",
		"1795339800123456":           "2026-11-22T09:30:00.123456Z false",
		"1795339800123456789":        "2026-11-22T09:30:00.123456789Z false",
		"1795339800.x":               "",
		"yesterday":                  "",
		"":                           "",
	} {
		at, coarse, err := timeOf(text)
		if want == "" {
			assert.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		assert.Equal(t, want, fmt.Sprint(at.UTC().Format(time.RFC3339Nano), " ", coarse), text)
	}
}

// TestAccessLinesAtRandom cuts and changes lines of access logs: what is read makes sense,
// and nothing else is read.
func TestAccessLinesAtRandom(t *testing.T) {
	seed := testenv.Seed()
	t.Logf("SLUICE_SEED=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 5))
	for _, c := range []struct {
		line  string
		parse func(string) (request, error)
	}{
		{`192.0.2.1 - ann [22/Nov/2026:09:30:00 +0100] "GET /a?b=c HTTP/1.1" 200 5 "http://r/" "agent \"x\"" 0.125`, parseCombined},
		{`::1 - - [22/Nov/2026:09:30:00 +0100] "GET / HTTP/1.0" 200 5 1500`, parseCommon},
		{`{"ts":1795339800.5,"request":{"method":"GET","uri":"/a","remote_ip":"::1","headers":{"User-Agent":["x"]}},"duration":"1.5s","status":200}`, parseJSON},
	} {
		whole, err := c.parse(c.line)
		require.NoError(t, err)
		assert.Equal(t, []any{200, "GET"}, []any{whole.status, whole.method})
		assert.Positive(t, whole.took)
		read := 0
		for range 3_000 {
			b := []byte(c.line)
			for range 1 + rng.IntN(3) {
				if len(b) == 0 {
					break
				}
				switch i := rng.IntN(len(b)); rng.IntN(3) {
				case 0:
					b[i] = "\"\\[] {}:,.-0\xff"[rng.IntN(13)]
				case 1:
					b = append(b[:i], b[i+1:]...)
				default:
					b = b[:i+1]
				}
			}
			q, err := c.parse(string(b))
			if err != nil {
				continue
			}
			read++
			assert.GreaterOrEqual(t, q.took, time.Duration(0), "%s", b)
			assert.True(t, q.status >= 100 && q.status <= 999, "%s", b)
			assert.False(t, q.at.IsZero(), "%s", b)
		}
		assert.Positive(t, read)
	}
}

// TestReplayWithChaos replays a recording under a policy that injects: an attempt takes its
// time from the mark at which it calls the dependency. A recording with injected results
// does not know how long the dependency takes, so a policy without the step assumes it.
func TestReplayWithChaos(t *testing.T) {
	const plain, slow, failing = `{"steps":[{"timeout":"1h"}]}`, `{"steps":[{"timeout":"1h"},{"chaos":{"slow":{"rate":"100%","by":"1s"}}}]}`,
		`{"steps":[{"timeout":"1h"},{"chaos":{"fail":"100%","slow":{"rate":"100%","by":"2s"}}}]}`
	const call, done = `{"at":"0s","op":"call","id":1}` + "\n", `{"at":"300ms","op":"done","id":1,"outcome":"ok"}` + "\n"
	const admit = `{"at":"0s","id":1,"decision":"admit","attempt":1}` + "\n"
	for _, c := range []struct{ name, recording, under, want string }{
		{"injected latency", call + admit + done, slow, admit +
			`{"at":"0s","id":1,"decision":"inject","attempt":1,"step":"chaos","until":"1s"}` + "\n" +
			`{"at":"1s","id":1,"decision":"start","attempt":1,"step":"chaos"}` + "\n" +
			`{"at":"1.3s","id":1,"decision":"end","outcome":"ok","attempt":1}` + "\n"},
		{"an injected failure", call + admit + done, failing, admit +
			`{"at":"0s","id":1,"decision":"inject","attempt":1,"step":"chaos","until":"2s"}` + "\n" +
			`{"at":"2s","id":1,"decision":"inject","outcome":"fail","attempt":1,"step":"chaos"}` + "\n" +
			`{"at":"2s","id":1,"decision":"end","outcome":"fail","attempt":1}` + "\n"},
		{"without the latency that was injected", call + admit +
			`{"at":"0s","id":1,"decision":"inject","attempt":1,"step":"chaos","until":"1s"}` + "\n" +
			`{"at":"1s","id":1,"decision":"start","attempt":1,"step":"chaos"}` + "\n" +
			`{"at":"1.3s","op":"done","id":1,"outcome":"ok"}` + "\n", plain, admit +
			`{"at":"300ms","id":1,"decision":"end","outcome":"ok","attempt":1}` + "\n"},
		{"without the failure that was injected", call + admit +
			`{"at":"0s","id":1,"decision":"inject","outcome":"fail","attempt":1,"step":"chaos"}` + "\n" +
			`{"at":"0s","id":1,"decision":"end","outcome":"fail","attempt":1}` + "\n", plain, admit +
			`{"at":"50ms","id":1,"decision":"end","outcome":"ok","attempt":1}` + "\n"},
	} {
		rec, err := Read([]File{{"log", strings.NewReader(c.recording + `{"at":"5s","op":"tick"}` + "\n")}}, Options{Strict: true})
		require.NoError(t, err, c.name)
		document, err := policy.Parse("p.json", []byte(`{"version":1,"policies":{"p":`+c.under+`}}`))
		require.NoError(t, err)
		var out bytes.Buffer
		_, err = (&Run{Recording: rec, Deciders: Under(document, ""), Log: &out, Assumed: Assumed{Took: 50 * time.Millisecond}}).Do()
		require.NoError(t, err)
		assert.Equal(t, c.want, out.String(), c.name)
	}
}
