package filtertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/proxywasm/host"
)

const recordLog = "sluice: record: "

// recorded returns the lines of the trace in the log of the proxy, without the numbers of
// their workers.
func (e *envoy) recorded() (lines []string) {
	for _, line := range e.logged(recordLog) {
		_, line, _ = strings.Cut(strings.TrimPrefix(line, recordLog), " ")
		if strings.HasPrefix(line, "{") {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestRecordIsReplayed records random requests through random policies: sluice eval decides
// the events of the trace as the filter has recorded it.
func TestRecordIsReplayed(t *testing.T) {
	t.Parallel()
	for _, state := range []document.ProxyState{document.WorkerState, document.ProcessState} {
		decided := 0
		for d := range testenv.Draws(t, 30) {
			c := drawCase(rand.New(rand.NewPCG(d.Seed, uint64(d.Case))), state)
			c.records = true
			c.performable(t)
			want, ok := c.want(t)
			if !ok {
				continue
			}
			p := host.NewProcess(host.Config{Workers: 1, Wall: time.Unix(0, 0)})
			x := c.start(t, p)
			x.perform(want)
			lines := x.recorded()
			p.Close()
			n, diff := replayed(t, c.document(), lines)
			require.Empty(t, diff, "SLUICE_SEED=%d, case %d, state %s:\n%s\n%s", d.Seed, d.Case, c.stateName(), c.document(), strings.Join(lines, "\n"))
			decided += n
		}
		if testenv.Seed() == 1 {
			assert.Greater(t, decided, 100)
		}
	}
}

// replayed returns how many decisions about requests eval comes to by the events of a trace, and
// how they differ from the decisions of the trace.
func replayed(t *testing.T, text string, lines []string) (decided int, diff string) {
	t.Helper()
	doc, err := policy.Parse("policy.json", []byte(text))
	require.NoError(t, err)
	policies := make([]pipeline.Policy, len(doc.Policies))
	for i := range doc.Policies {
		policies[i] = doc.Policies[i].Policy
	}
	var events, out bytes.Buffer
	got := map[string]string{}
	note := func(all map[string]string, line string) {
		var l struct {
			At, ID, Decision, Step, Reason string
			RetryAfter                     string `json:"retry_after"`
			Shadow                         bool
		}
		require.NoError(t, json.Unmarshal([]byte(line), &l), line)
		if !l.Shadow && (l.Decision == "admit" || l.Decision == "reject" || l.Decision == "expire") {
			all[l.ID] = fmt.Sprint(l.Decision, " ", l.At, " ", l.Step, " ", l.Reason, " ", l.RetryAfter)
		}
	}
	for _, line := range lines {
		if strings.Contains(line, `"op":`) {
			events.WriteString(line + "\n")
		}
		note(got, line)
	}
	require.NoError(t, eval.RunAll(policies, eval.Options{Seed: 1}, &events, &out))
	want := map[string]string{}
	for line := range strings.Lines(out.String()) {
		note(want, line)
	}
	for id, w := range want {
		// The last waits are decided after the last event.
		if got[id] != w && (got[id] != "" || strings.HasPrefix(w, "reject")) {
			diff += fmt.Sprintf("%s: recorded %q, eval %q\n", id, got[id], w)
		}
	}
	for id, g := range got {
		if want[id] == "" && strings.HasPrefix(g, "reject") {
			diff += fmt.Sprintf("%s: recorded %q, eval nothing\n", id, g)
		}
	}
	return len(want), diff
}

// TestRecordHides has hashes in place of the values of secrets, equal ones of equal values, and
// no line where no trace is asked for.
func TestRecordHides(t *testing.T) {
	t.Parallel()
	inEachState(t, func(t *testing.T, state string) {
		const list = `{"limit":{"rate":"2/1h","per":["header:authorization","header:x-plan"]}}`
		e := start(t, traced("record", state, list))
		for _, token := range []string{"one", "one", "two"} {
			e.get(0, "authorization", token, "x-plan", `a"b`)
		}
		lines := e.recorded()
		require.Len(t, lines, 9)
		hash := func(line string) string {
			var l struct{ Attributes map[string]string }
			require.NoError(t, json.Unmarshal([]byte(line), &l))
			assert.Equal(t, `a"b`, l.Attributes["header:x-plan"])
			return l.Attributes["header:authorization"]
		}
		assert.Regexp(t, "^hash:[0-9a-f]{16}$", hash(lines[0]))
		assert.Equal(t, hash(lines[0]), hash(lines[3]))
		assert.NotEqual(t, hash(lines[0]), hash(lines[6]))
		assert.NotContains(t, strings.Join(e.logged(recordLog), ""), ":\"one\"")

		off := start(t, traced("off", state, list))
		off.get(0, "authorization", "one")
		assert.Empty(t, off.logged(recordLog))
	})
}

// TestRecordIsBounded records a thousand requests a second of each worker, and counts the others.
func TestRecordIsBounded(t *testing.T) {
	t.Parallel()
	e := start(t, traced("record", "worker", `{"limit":"1/1h"}`))
	for range 1200 {
		e.get(0)
	}
	assert.Len(t, e.recorded(), 1000+1000+1) // of one that passes the end, too
	e.flush()
	lost := e.logged(" lost ")
	require.Len(t, lost, 1)
	assert.Equal(t, recordLog+"1 lost 200", lost[0])
	e.get(0)
	assert.Len(t, e.recorded(), 2003)
	// Another worker has another number.
	e.get(1)
	assert.True(t, strings.HasPrefix(e.logged(recordLog)[len(e.logged(recordLog))-1], recordLog+"2 "))
}
