package apitest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/internal/testenv"
)

// lookup returns the values of attributes from a map.
func lookup(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestTraceOptions(t *testing.T) {
	p := guarded(t, []string{"limit: 5/1s"})
	file := filepath.Join(t.TempDir(), "trace.ndjson")
	for want, o := range map[string]sluice.TraceOptions{
		"Writer and File are both set":             {Writer: &bytes.Buffer{}, File: file},
		"MaxBytes has no effect":                   {MaxBytes: 1},
		"Rotate has no effect":                     {Rotate: 1, Writer: &bytes.Buffer{}},
		"Rotate is -1":                             {Rotate: -1, File: file},
		"MaxBytes is -1":                           {MaxBytes: -1, File: file},
		"Buffer is 1; allowed: at least 16384":     {Buffer: 1},
		"Sample is -0.1; allowed: 0 to 1":          {Sample: -0.1},
		"Sample is 1.5; allowed: 0 to 1":           {Sample: 1.5},
		"Redact is 9; allowed: RedactSecrets, Red": {Redact: 9},
		"no such file or directory":                {File: filepath.Join(file, "missing")},
	} {
		_, err := p.Trace(o)
		assert.ErrorContains(t, err, want)
	}
	first, err := p.Trace(sluice.TraceOptions{})
	require.NoError(t, err)
	assert.True(t, p.Traced())
	_, err = p.Trace(sluice.TraceOptions{})
	require.ErrorIs(t, err, sluice.ErrTraced)
	require.NoError(t, first.Stop())
	require.NoError(t, first.Stop())
	assert.False(t, p.Traced())
	second, err := p.Trace(sluice.TraceOptions{Writer: &bytes.Buffer{}})
	require.NoError(t, err)
	require.NoError(t, first.Stop())
	assert.True(t, p.Traced(), "the second trace goes on")
	_, err = second.WriteTo(&bytes.Buffer{})
	require.ErrorContains(t, err, "not in memory")
	require.NoError(t, second.Stop())

	_, err = (&sluice.Pipeline{}).Trace(sluice.TraceOptions{})
	require.Error(t, err)
}

// TestTraceRedacts checks which values are readable, and that equal values have equal
// hashes.
func TestTraceRedacts(t *testing.T) {
	for redact, readable := range map[sluice.Redact]string{
		sluice.RedactSecrets: "acme 192.0.2.1 spring", sluice.RedactAll: "", sluice.RedactNone: "acme 192.0.2.1 spring s3 s4 s5 s6",
	} {
		t.Run(redact.String(), func(t *testing.T) {
			p := guarded(t, []string{"limit: {rate: 1/1h, per: [key, header:authorization]}"})
			var out bytes.Buffer
			tr, err := p.Trace(sluice.TraceOptions{Writer: &out, Redact: redact, Attributes: []string{"ip", "cookie:c", "query:season", "query:auth_token", "header:X-Api-Key"}})
			require.NoError(t, err)
			q := sluice.Request{Key: "acme", Lookup: lookup(map[string]string{
				"ip": "192.0.2.1", "cookie:c": "s3", "query:season": "spring", "query:auth_token": "s4", "header:X-Api-Key": "s5", "header:authorization": "s6",
			})}
			for range 2 {
				_, _ = sluice.DoWith(t.Context(), p, q, ok)
			}
			require.NoError(t, tr.Stop())
			r := apart(t, out.String())
			assert.Equal(t, redact.String(), r.header.Redact)
			for _, value := range []string{"acme", "192.0.2.1", "spring", "s3", "s4", "s5", "s6"} {
				assert.Equal(t, slices.Contains(strings.Fields(readable), value), strings.Contains(r.events, `"`+value+`"`), value)
			}
			assert.Contains(t, r.decisions, `"decision":"reject"`)
			assert.Equal(t, evaluatedAgain(t, r), r.decisions)
		})
	}
}

// TestTraceKeepsCosts checks that a cost is readable although the name of its attribute is the
// name of a secret, so that eval decides as the pipeline did; a value that is no cost is
// replaced by its hash.
func TestTraceKeepsCosts(t *testing.T) {
	for _, redact := range []sluice.Redact{sluice.RedactSecrets, sluice.RedactAll} {
		p := guarded(t, []string{"limit: {rate: 100/1h, cost: 'header:x-tokens'}"})
		var out bytes.Buffer
		tr, err := p.Trace(sluice.TraceOptions{Writer: &out, Redact: redact})
		require.NoError(t, err)
		for _, tokens := range []string{"60", "secret", "39", "1"} {
			_, _ = sluice.DoWith(t.Context(), p, sluice.Request{Lookup: lookup(map[string]string{"header:x-tokens": tokens})}, ok)
		}
		require.NoError(t, tr.Stop())
		r := apart(t, out.String())
		assert.Contains(t, r.events, `"header:x-tokens":"60"`)
		assert.NotContains(t, r.events, "secret")
		assert.Equal(t, 1, strings.Count(r.decisions, `"decision":"reject"`))
		assert.Equal(t, evaluatedAgain(t, r), r.decisions)
	}
}

// TestTraceSamples checks that the calls of a key are recorded all or not, that the share
// is about the one asked for, and that another process would take the same keys.
func TestTraceSamples(t *testing.T) {
	const keys = 2_000
	var texts [2]string
	for i := range texts {
		p := guarded(t, []string{"limit: {rate: 1000/1s, per: header:x-tenant}"})
		var out bytes.Buffer
		tr, err := p.Trace(sluice.TraceOptions{Writer: &out, Sample: 0.25, Buffer: 8 << 20})
		require.NoError(t, err)
		for n := range 3 * keys {
			_, err := sluice.DoWith(t.Context(), p, sluice.Request{Lookup: lookup(map[string]string{"header:x-tenant": fmt.Sprint("tenant-", n%keys)})}, ok)
			require.NoError(t, err)
		}
		require.NoError(t, tr.Stop())
		r := apart(t, out.String())
		assert.InDelta(t, 0.25, r.header.Sample, 0)
		counts := map[string]int{}
		for line := range strings.Lines(r.events) {
			if _, rest, isCall := strings.Cut(line, `"header:x-tenant":"`); isCall {
				counts[rest[:strings.Index(rest, `"`)]]++
			}
		}
		for key, n := range counts {
			require.Equal(t, 3, n, key)
		}
		assert.InDelta(t, keys/4, len(counts), keys/40)
		for key := range counts {
			texts[i] = max(texts[i], key)
		}
	}
	assert.Equal(t, texts[0], texts[1])
}

// TestTraceSamplesCallsWithoutKeys checks the share of calls that have no key.
func TestTraceSamplesCallsWithoutKeys(t *testing.T) {
	p := guarded(t, []string{"limit: 100000/1s"})
	tr, err := p.Trace(sluice.TraceOptions{Sample: 0.5})
	require.NoError(t, err)
	for range 4_000 {
		require.NoError(t, do(p, ok))
	}
	require.NoError(t, tr.Stop())
	assert.InDelta(t, 2_000, tr.Stats().Calls, 150)
}

// TestTraceInMemory checks that the latest lines are kept, that stories are whole, and
// that eval decides the same from the header of what is left, jitter included.
func TestTraceInMemory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"retry: {attempts: 2, backoff: {constant: 1s}}"}, sluice.WithSeed(11))
		tr, err := p.Trace(sluice.TraceOptions{Buffer: 16 << 10})
		require.NoError(t, err)
		var texts []string
		for i := range 400 {
			time.Sleep(time.Second)
			_ = do(p, fails)
			if i%100 == 99 {
				var out bytes.Buffer
				_, err := tr.WriteTo(&out)
				require.NoError(t, err)
				texts = append(texts, out.String())
			}
		}
		require.NoError(t, tr.Stop())
		stats := tr.Stats()
		assert.EqualValues(t, 400, stats.Calls)
		assert.Positive(t, stats.Overwritten)
		assert.Zero(t, stats.LostLines+stats.LostCalls)
		for _, text := range texts {
			lines := slices.Collect(strings.Lines(text))
			assert.GreaterOrEqual(t, len(text), min(16<<10, len(texts[0])))
			r := recorded{}
			for _, line := range lines[1 : len(lines)-1] {
				if strings.Contains(line, `"op":`) {
					r.events += line
				} else {
					r.decisions += line
				}
			}
			r.header = header(t, lines[0])
			assert.Equal(t, evaluatedAgain(t, r), r.decisions)
			assert.True(t, strings.Contains(strings.SplitN(r.events, "\n", 2)[0], `"op":"tick"`) || strings.Contains(r.events, `"op":"call"`))
		}
	})
}

// stuck is a writer that waits for a value of next before it writes.
type stuck struct {
	next chan struct{}
	bytes.Buffer
}

func (w *stuck) Write(p []byte) (int, error) {
	<-w.next
	return w.Buffer.Write(p)
}

// TestTraceLoses checks that a writer that is too slow makes no call wait, that what is
// lost is counted, and that calls are lost before lines of calls that are recorded.
func TestTraceLoses(t *testing.T) {
	p := guarded(t, []string{"limit: 1000000000/1s"})
	w := &stuck{next: make(chan struct{})}
	tr, err := p.Trace(sluice.TraceOptions{Writer: w, Buffer: 16 << 10})
	require.NoError(t, err)
	const calls = 1_000
	for range calls {
		require.NoError(t, do(p, ok))
	}
	stats := tr.Stats()
	assert.Positive(t, stats.LostCalls)
	assert.Zero(t, stats.LostLines)
	assert.EqualValues(t, calls, stats.Calls+stats.LostCalls)
	close(w.next)
	require.NoError(t, tr.Stop())
	r := apart(t, w.String())
	assert.Equal(t, stats.LostCalls, r.end.LostCalls)
	assert.EqualValues(t, stats.Calls, strings.Count(r.events, `"op":"call"`))
	assert.EqualValues(t, stats.Calls, strings.Count(r.decisions, `"end"`))
}

// failing is a writer that fails after some bytes.
type failing struct{ left int }

var errDisk = errors.New("the disk is full")

func (w *failing) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errDisk
	}
	return len(p), nil
}

// TestTraceEndsFull checks the bound of a writer, of a file without rotation, and the end
// of a writer that fails.
func TestTraceEndsFull(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.ndjson")
	var out bytes.Buffer
	for name, c := range map[string]struct {
		options sluice.TraceOptions
		want    error
		text    func() string
	}{
		"writer": {sluice.TraceOptions{Writer: &out, MaxBytes: 2_000}, sluice.ErrTraceFull, out.String},
		"file":   {sluice.TraceOptions{File: file, MaxBytes: 2_000}, sluice.ErrTraceFull, func() string { return read(t, file) }},
		"fails":  {sluice.TraceOptions{Writer: &failing{2_000}}, errDisk, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := guarded(t, []string{"limit: 1000000000/1s"})
			tr, err := p.Trace(c.options)
			require.NoError(t, err)
			for tr.Err() == nil {
				require.NoError(t, do(p, ok))
				runtime.Gosched()
			}
			require.NoError(t, do(p, ok))
			assert.Positive(t, tr.Stats().LostCalls)
			require.ErrorIs(t, tr.Stop(), c.want)
			if c.text == nil {
				return
			}
			text := c.text()
			assert.LessOrEqual(t, len(text), 2_000)
			assert.Greater(t, len(text), 1_000)
			assert.True(t, strings.HasSuffix(text, "}\n"), text[len(text)-100:])
		})
	}
}

// TestTraceRotates checks that each file has a header of its own and begins where the one
// before it ends, and that older ones are removed. The seed of a header numbers calls only where
// the policy draws.
func TestTraceRotates(t *testing.T) {
	t.Run("of a policy that draws", func(t *testing.T) { traceRotates(t, 1, "retry: 2", "limit: {rate: 1/1h, burst: 7}") })
	t.Run("of one that does not", func(t *testing.T) { traceRotates(t, 0, "limit: {rate: 1/1h, burst: 7}") })
}

func traceRotates(t *testing.T, draws int64, steps ...string) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, steps, sluice.WithSeed(3))
		file := filepath.Join(t.TempDir(), "trace.ndjson")
		tr, err := p.Trace(sluice.TraceOptions{File: file, MaxBytes: 4_000, Rotate: 2})
		require.NoError(t, err)
		for range 400 {
			time.Sleep(time.Second)
			_ = do(p, ok)
		}
		require.NoError(t, tr.Stop())
		left, err := filepath.Glob(file + "*")
		require.NoError(t, err)
		assert.Equal(t, []string{file, file + ".1", file + ".2"}, left)
		next := int64(0)
		for i, name := range []string{file + ".2", file + ".1", file} {
			text := read(t, name)
			info, err := os.Stat(name)
			require.NoError(t, err)
			assert.LessOrEqual(t, info.Size(), int64(4_000))
			assert.EqualValues(t, 0o600, info.Mode().Perm())
			lines := slices.Collect(strings.Lines(text))
			head := header(t, lines[0])
			// The decision about the last call of the file before may come first.
			call := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, `"op":"call"`) })
			require.Positive(t, call, text)
			first := int64(0)
			_, err = fmt.Sscanf(lines[call][strings.Index(lines[call], `"id":`):], `"id":%d`, &first)
			require.NoError(t, err, lines[call])
			if i > 0 {
				assert.Equal(t, next, first)
			}
			assert.Equal(t, uint64(3+draws*(first-1)<<32), head.Seed)
			next = first + int64(strings.Count(text, `"op":"call"`))
		}
	})
}

// TestTraceOfSet records two policies, one that a later document adds, and one that a
// later document changes.
func TestTraceOfSet(t *testing.T) {
	const one = `{"version":1,"policies":{"a":{"steps":[{"limit":"1/1h"}]}}}`
	const two = `{"version":1,"policies":{"a":{"steps":[{"limit":"2/1h"}]},"b":{"steps":[{"limit":"1/1h"}]}}}`
	source := &clock.Virtual{}
	set, err := sluice.Parse("p.json", []byte(one), sluice.WithClock(source), sluice.WithSeed(5))
	require.NoError(t, err)
	var out bytes.Buffer
	source.Advance(time.Hour)
	tr, err := set.Trace(sluice.TraceOptions{Writer: &out})
	require.NoError(t, err)
	_, err = set.Trace(sluice.TraceOptions{})
	require.ErrorIs(t, err, sluice.ErrTraced)
	_, err = set.Pipeline("a").Trace(sluice.TraceOptions{})
	require.ErrorIs(t, err, sluice.ErrTraced)
	for range 2 {
		_ = do(set.Pipeline("a"), ok)
	}
	source.Advance(time.Minute)
	require.NoError(t, set.Reload("p.json", []byte(two)))
	for range 2 {
		_ = do(set.Pipeline("b"), ok)
		_ = do(set.Pipeline("a"), ok)
	}
	require.NoError(t, tr.Stop())
	_ = do(set.Pipeline("a"), ok)
	assert.False(t, set.Pipeline("b").Traced())

	lines := slices.Collect(strings.Lines(out.String()))
	b := -1
	for i, line := range lines {
		if strings.HasPrefix(line, `{"trace":1,"policy":"b"`) {
			b = i
		}
	}
	require.Positive(t, b)
	lines = slices.Delete(lines, b, b+1)
	assert.Equal(t, `{"at":"0s","op":"call","id":"a/1"}
{"at":"0s","id":"a/1","decision":"admit","attempt":1}
{"at":"0s","op":"done","id":"a/1","outcome":"ok"}
{"at":"0s","id":"a/1","decision":"end","outcome":"ok","attempt":1}
{"at":"0s","op":"call","id":"a/2"}
{"at":"0s","id":"a/2","decision":"reject","step":"limit","reason":"rate","retry_after":"1h0m0s"}
{"at":"1m0s","op":"configure","id":"a","policy":{"steps":[{"limit":{"algorithm":"token-bucket","name":"limit","rate":"2/1h0m0s"}}]}}
{"at":"1m0s","id":"a","decision":"configured"}
{"at":"1m0s","op":"call","id":"b/1"}
{"at":"1m0s","id":"b/1","decision":"admit","attempt":1}
{"at":"1m0s","op":"done","id":"b/1","outcome":"ok"}
{"at":"1m0s","id":"b/1","decision":"end","outcome":"ok","attempt":1}
{"at":"1m0s","op":"call","id":"a/3"}
{"at":"1m0s","id":"a/3","decision":"reject","step":"limit","reason":"rate","retry_after":"29m30s"}
{"at":"1m0s","op":"call","id":"b/2"}
{"at":"1m0s","id":"b/2","decision":"reject","step":"limit","reason":"rate","retry_after":"1h0m0s"}
{"at":"1m0s","op":"call","id":"a/4"}
{"at":"1m0s","id":"a/4","decision":"reject","step":"limit","reason":"rate","retry_after":"29m30s"}
{"trace":1,"end":"1m0s","calls":6,"lines":18,"lost_calls":0,"lost_lines":0}
`, strings.Join(lines[1:], ""))
}

// TestTraceUnderLoad starts and stops traces while calls of every kind run. Every line of
// a trace can be read, each call has one beginning, and none is lost.
func TestTraceUnderLoad(t *testing.T) {
	p := guarded(t, []string{
		"retry: {attempts: 2, backoff: none, budget: 50%}",
		"limit: {rate: 1000000/1ms, per: key}",
		"breaker: {window: {calls: 10}, failure_rate: 100%, minimum: 10, open: 1ms}",
		"bulkhead: {concurrent: 2, wait: 1h}",
	})
	calls := 0
	for round := range testenv.Cases(30) {
		var load sync.WaitGroup
		traced := make(chan struct{}) // half of the calls begin before, and run into the start
		for g := range 4 {
			load.Go(func() {
				rng := rand.New(rand.NewPCG(testenv.Seed(), uint64(4*round+g)))
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				for i := range 60 {
					if i == 30 {
						<-traced
					}
					fn := ok
					if rng.IntN(4) == 0 {
						fn = fails
					}
					_, _ = sluice.Do(ctx, p, fn)
				}
			})
		}
		var out bytes.Buffer
		o := sluice.TraceOptions{}
		if round%2 == 0 {
			o.Writer = &out
		}
		tr, err := p.Trace(o)
		close(traced)
		require.NoError(t, err)
		if round%3 == 0 {
			load.Wait()
		}
		require.NoError(t, tr.Stop())
		load.Wait()
		if round%2 == 1 {
			_, err = tr.WriteTo(&out)
			require.NoError(t, err)
		}
		r := apart(t, out.String())
		assert.Zero(t, r.end.LostCalls+r.end.LostLines)
		begun := map[string]bool{}
		for line := range strings.Lines(r.events) {
			if d := parsed(t, line); strings.Contains(line, `"op":"call"`) {
				require.False(t, begun[string(d.ID)], line)
				begun[string(d.ID)] = true
			}
		}
		for line := range strings.Lines(r.decisions) {
			require.True(t, begun[string(parsed(t, line).ID)], line)
		}
		assert.EqualValues(t, r.end.Calls, len(begun))
		calls += len(begun)
	}
	assert.Positive(t, calls)
}
