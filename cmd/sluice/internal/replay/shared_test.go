package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/oracle"
	"github.com/sluice-go/sluice/internal/oracle/generate"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/policy"
)

// Policies that share a state decide together, also where the first of them gets it by a
// configure; what keeps no state is a common setting.
func TestGroups(t *testing.T) {
	const use = `{"mechanisms":{"m":{"limit":"5/s"},"n":{"bulkhead":3},"t":{"timeout":"1s"}},"steps":[%s]}`
	header := func(policy, steps string) string {
		return fmt.Sprintf(`{"trace":1,"policy":%q,"prefixed":true,"seed":"1","body":`+use+"}\n", policy, steps)
	}
	log := header("a", `{"use":"m"},{"use":"t"}`) + header("b", `{"use":"t"}`) + header("c", `{"use":"m"}`) + header("d", `{"use":"t"},{"use":"n"}`) + header("e", `{"breaker":{}}`)
	configure := fmt.Sprintf(`{"at":"1s","op":"configure","id":"e","policy":`+use+"}\n", `{"use":"n"}`)
	for _, c := range []struct{ log, want string }{
		{log, "[a c] [b] [d] [e]"},
		{log + configure, "[a c] [b] [d e]"},
		{log + configure + strings.ReplaceAll(configure, `"id":"e"`, `"id":"c"`), "[a c d e] [b]"},
	} {
		rec, err := Read([]File{{"trace", strings.NewReader(c.log)}}, Options{Strict: true})
		require.NoError(t, err)
		run := &Run{Recording: rec, Deciders: Own()}
		all := &machines{epoch: new(Recording).epoch, byName: map[string]*Machine{}}
		require.NoError(t, run.first(all))
		script := rec.script
		for i := range script {
			script[i].of = all.byName[script[i].policy]
		}
		var got []string
		for _, g := range run.groups(all.order, script, nil, newResult(rec)) {
			got = append(got, fmt.Sprint(names(g.members)))
		}
		assert.Equal(t, c.want, strings.Join(got, " "))
	}
}

// TestReplayIsEvalOfAll is TestReplayIsEval for policies that share mechanisms: policies of a trace,
// with its configures, and policies of a document that decide a log of events.
func TestReplayIsEvalOfAll(t *testing.T) {
	cases, seed := testenv.Cases(1_000), testenv.Seed()
	if testing.Short() {
		cases /= 10
	}
	t.Logf("SLUICE_SEED=%d, %d cases", seed, cases)
	together := 0
	for i := range cases {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		one, drawn := generate.GenerateFor(r, seed)
		policies, events := generate.Spread(r, one, drawn)
		log, want, err := loggedBy(t, oracle.NewSet(policies, seed), events)
		if err != nil {
			continue // two calls of one policy have one id
		}
		document := generate.SetJSON(policies)
		doc, err := policy.Parse("p.json", document)
		require.NoError(t, err)
		var headers, bare string
		for _, p := range policies {
			headers += fmt.Sprintf(`{"trace":1,"policy":%q,"prefixed":true,"seed":"%d","body":%s}`+"\n", p.Name, seed, policy.BodyJSON(p))
		}
		for line := range strings.Lines(log) {
			if strings.Contains(line, `"op":`) {
				bare += line
			}
		}
		for _, c := range []struct {
			src       string
			by        *Deciders
			configure bool
		}{{headers + log, Own(), true}, {headers + bare, Own(), true}, {log, Under(doc, ""), false}, {bare, Under(doc, ""), false}} {
			if !c.configure && strings.Contains(bare, `"op":"configure"`) {
				continue // which is the policy's, not the recording's
			}
			rec, err := Read([]File{{"log", strings.NewReader(c.src)}}, Options{Strict: true})
			require.NoError(t, err, c.src)
			var out bytes.Buffer
			result, err := (&Run{Recording: rec, Deciders: c.by, Seed: seed, Log: &out, Verbatim: rec.Verbatim()}).Do()
			require.NoError(t, err)
			place := []any{"SLUICE_SEED=%d, case %d:\n%s\n%s", seed, i, document, c.src}
			assert.Zero(t, result.Unmatched, place...)
			if rec.Decided {
				x := result.Recorded(1)
				require.Zero(t, x.NowRefused+x.NowAdmitted+x.OtherStep+x.OtherOutcome, place...)
			}
			got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if out.Len() == 0 {
				got = nil
			}
			for _, p := range policies {
				require.Equal(t, linesOf(want, p.Name), linesOf(got, p.Name), place...)
			}
			// Policies that share nothing decide one after another.
			if share(policies) {
				together++
				require.Equal(t, want, got, place...)
			}
		}
	}
	assert.Greater(t, together, cases/2)
}

// linesOf returns the decisions of a policy.
func linesOf(lines []string, policy string) (own []string) {
	for _, line := range lines {
		if strings.Contains(line, `"id":"`+policy+`/`) || strings.Contains(line, `"id":"`+policy+`",`) {
			own = append(own, line)
		}
	}
	return own
}

// share reports whether all policies use one mechanism with a state.
func share(policies []pipeline.Policy) bool {
	users := map[string]int{}
	for _, p := range policies {
		for _, s := range p.Steps {
			if row := mechanisms.Row(s.Kind()); s.Mechanism != "" && (row.Stateless == nil || row.Stateless(s.Config) == "") {
				users[s.Mechanism]++
			}
		}
	}
	for _, n := range users {
		if n == len(policies) {
			return true
		}
	}
	return false
}

// TestExplainShared explains refusals by mechanisms that two policies share: the calls of both
// led there, and not the calls of a policy with a mechanism of its own.
func TestExplainShared(t *testing.T) {
	header := func(policy, mechanism, step string) string {
		return fmt.Sprintf(`{"trace":1,"policy":%q,"prefixed":true,"seed":"1","body":{"mechanisms":{"m":%s},"steps":[%s]}}`+"\n", policy, mechanism, step)
	}
	const use, alone = `{"use":{"mechanism":"m","name":"mine"}}`, `{"timeout":"1h"},{"use":"m"}`
	call := func(at, id string) string { return fmt.Sprintf(`{"at":%q,"op":"call","id":%q}`+"\n", at, id) }
	fails := func(at, id string) string {
		return fmt.Sprintf(`{"at":%q,"op":"done","id":%q,"outcome":"fail"}`+"\n", at, id)
	}
	for _, c := range []struct {
		mechanism, own, log string
		verdict             string
		earlier             []Earlier
	}{
		{
			`{"limit":"1/1m"}`, `{"limit":{"rate":"1/1m","name":"m"}}`, call("0s", "c/1") + call("0s", "a/1") + call("0s", "b/2"),
			"refused by m (rate)", []Earlier{{At: "0s", ID: "a/1", What: "admitted, cost 1"}},
		},
		{
			`{"bulkhead":2}`, `{"bulkhead":{"concurrent":1,"name":"m"}}`, call("0s", "c/1") + call("0s", "a/1") + call("0s", "a/3") + fails("0s", "a/3") + call("1s", "b/1") + call("1s", "b/2"),
			"refused by m (full)", []Earlier{{At: "1s", ID: "b/1", What: "runs since then"}, {At: "0s", ID: "a/1", What: "runs since then"}},
		},
		{
			`{"breaker":{"window":{"consecutive":2},"open":"1m"}}`, `{"breaker":{"name":"m"}}`,
			call("0s", "c/1") + fails("0s", "c/1") + call("0s", "a/1") + fails("1s", "a/1") + call("2s", "b/1") + fails("3s", "b/1") + call("4s", "b/2"),
			"refused by m (open)", []Earlier{{At: "3s", What: "m is open"}, {At: "3s", ID: "b/1", What: "failed (fail)"}, {At: "1s", ID: "a/1", What: "failed (fail)"}},
		},
	} {
		log := header("a", c.mechanism, use) + header("b", c.mechanism, alone) + header("c", `{"timeout":"1s"}`, c.own) + c.log
		rec, err := Read([]File{{"trace", strings.NewReader(log)}}, Options{Strict: true})
		require.NoError(t, err)
		target, err := rec.Find("b/2")
		require.NoError(t, err)
		story, err := Explain(&Run{Recording: rec, Deciders: Own()}, target)
		require.NoError(t, err)
		assert.Equal(t, c.verdict, story.Verdict)
		assert.ElementsMatch(t, c.earlier, story.Earlier)
		assert.Equal(t, "b", story.Policy)
		assert.NotEmpty(t, story.Remedy)
	}
}

// TestReplaySharedTrace replays what a set of policies with a shared limit has recorded.
func TestReplaySharedTrace(t *testing.T) {
	var text bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		set, err := sluice.Parse("p.yaml", []byte(`{"version":1,"mechanisms":{"m":{"limit":{"rate":"2/1m","wait":"2m","queue":1}},"h":{"breaker":{"window":{"consecutive":3},"open":"20s"}}},"policies":{
			"a":{"steps":[{"use":"m"},{"use":"h"}]},"b":{"steps":[{"retry":{"attempts":2,"backoff":"none"}},{"use":"h"},{"use":{"mechanism":"m","name":"x"}}]}}}`), sluice.WithSeed(7))
		require.NoError(t, err)
		tr, err := set.Trace(sluice.TraceOptions{Writer: &text})
		require.NoError(t, err)
		failed := errors.New("no answer")
		for i := range 12 {
			_, _ = sluice.Do(t.Context(), set.Pipeline([]string{"a", "b", "b", "a"}[i%4]), func(context.Context) (int, error) {
				time.Sleep(time.Millisecond)
				return 0, failed
			})
			time.Sleep(10 * time.Second)
		}
		require.NoError(t, tr.Stop())
	})
	rec, err := Read([]File{{"trace", bytes.NewReader(text.Bytes())}}, Options{Strict: true})
	require.NoError(t, err)
	var out bytes.Buffer
	result, err := (&Run{Recording: rec, Deciders: Own(), Log: &out}).Do()
	require.NoError(t, err)
	x := result.Recorded(1)
	assert.Equal(t, 12, x.Compared)
	assert.Zero(t, x.NowRefused+x.NowAdmitted+x.OtherStep+x.OtherOutcome, "%s\n%s", text.String(), out.String())
	var want string
	for line := range strings.Lines(text.String()) {
		if strings.Contains(line, `"decision":`) {
			want += line
		}
	}
	assert.Equal(t, want, out.String())
	for _, kind := range []string{`"wait"`, `"reason":"open"`, `"retry"`} {
		assert.Contains(t, want, kind)
	}
}
