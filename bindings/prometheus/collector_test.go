package sluiceprometheus_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	sluiceprometheus "github.com/sluice-go/sluice/bindings/prometheus"
	"github.com/sluice-go/sluice/internal/metricnames"
)

var rewrite = flag.Bool("rewrite", false, "write the expected scrapes")

const document = `
version: 1
policies:
  vendor:
    steps:
      - timeout: {after: 30s, soft: 1s}
      - retry: {attempts: 2, backoff: {constant: 1s}, jitter: none, budget: 20%}
      - breaker: {window: {consecutive: 2}, open: 10s}
      - limit: {rate: 100/1s, wait: 5s}
      - bulkhead: {concurrent: 1, queue: 1, wait: 4s}
      - adaptive: {initial: 8}
  tenant:
    steps:
      - limit: {rate: 1/1m, per: key}
      - bulkhead: {concurrent: 3, shadow: true}
`

func parse(t testing.TB, src string) *sluice.Set {
	t.Helper()
	set, err := sluice.Parse("test.yaml", []byte(src))
	require.NoError(t, err)
	return set
}

// scraped returns what Prometheus reads.
func scraped(t testing.TB, collector prometheus.Collector) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(collector))
	families, err := registry.Gather()
	require.NoError(t, err)
	var text strings.Builder
	encoder := expfmt.NewEncoder(&text, expfmt.NewFormat(expfmt.TypeOpenMetrics))
	for _, family := range families {
		require.NoError(t, encoder.Encode(family))
	}
	return text.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *rewrite {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

func call(p *sluice.Pipeline, key string, takes time.Duration, err error) error {
	_, err = sluice.DoWith(context.Background(), p, sluice.Request{Key: key}, func(context.Context) (int, error) {
		time.Sleep(takes)
		return 1, err
	})
	return err
}

// TestScrapes compares the scrape before the first call, and the one after calls, with
// files.
func TestScrapes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := parse(t, document)
		collector := sluiceprometheus.New()
		defer collector.AddSet(set)()
		golden(t, "first.txt", scraped(t, collector))

		vendor := set.Pipeline("vendor")
		assert.NoError(t, call(vendor, "", 2*time.Second, nil))
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() {
				time.Sleep(time.Duration(i))
				err := call(vendor, "", 3*time.Second, nil)
				assert.Equal(t, i == 2, err != nil, "the place and the queue are taken")
			})
		}
		// Before the soft timeout of the first of them, which is at one second.
		time.Sleep(time.Second - time.Millisecond)
		golden(t, "busy.txt", scraped(t, collector))
		all.Wait()
		down := errors.New("down")
		for range 2 {
			assert.Error(t, call(vendor, "", time.Millisecond, down))
		}
		for range 2 {
			assert.Equal(t, sluice.ReasonOpen, refusal(call(vendor, "", 0, nil)))
		}
		tenant := set.Pipeline("tenant")
		assert.NoError(t, call(tenant, "a", 0, nil))
		assert.Equal(t, sluice.ReasonRate, refusal(call(tenant, "a", 0, nil)))
		golden(t, "after.txt", scraped(t, collector))
		time.Sleep(time.Hour)
	})
}

func refusal(err error) sluice.Reason {
	if refused := (*sluice.RejectedError)(nil); errors.As(err, &refused) {
		return refused.Reason
	}
	return 0
}

// TestNames compares the scrape with the table of names.
func TestNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := parse(t, document)
		collector := sluiceprometheus.New()
		defer collector.AddSet(set)()
		assert.NoError(t, call(set.Pipeline("tenant"), "a", 0, nil))
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(collector)
		families, err := registry.Gather()
		require.NoError(t, err)
		found := map[string]string{}
		for _, family := range families {
			found[family.GetName()] = strings.ToLower(family.GetType().String()) + " " + family.GetHelp()
		}
		want := map[string]string{}
		for _, m := range metricnames.Of(metricnames.Prometheus) {
			want[m.Prometheus] = string(m.Kind) + " " + m.Help
		}
		assert.Equal(t, want, found)
		problems, err := testutil.CollectAndLint(collector)
		require.NoError(t, err)
		assert.Empty(t, problems)
		time.Sleep(time.Hour)
	})
}

// TestReload counts policies of later documents, and keeps the counts of a policy that
// is no longer in the document.
func TestReload(t *testing.T) {
	set := parse(t, "version: 1\npolicies: {a: {steps: [limit: 5/1h]}}")
	collector := sluiceprometheus.New()
	remove := collector.AddSet(set)
	assert.NoError(t, call(set.Pipeline("a"), "", 0, nil))
	require.NoError(t, set.Reload("test.yaml", []byte("version: 1\npolicies: {b: {steps: [bulkhead: 7]}}")))
	assert.NoError(t, call(set.Pipeline("b"), "", 0, nil))
	got := scraped(t, collector)
	for _, line := range []string{
		`sluice_decisions_total{decision="end",policy="a",reason="",shadow="false",step=""} 1.0`,
		`sluice_decisions_total{decision="end",policy="b",reason="",shadow="false",step=""} 1.0`,
		`sluice_decisions_total{decision="reject",policy="b",reason="full",shadow="false",step="bulkhead"} 0.0`,
		`sluice_places{policy="b",step="bulkhead"} 7.0`,
	} {
		assert.Contains(t, got, line+"\n")
	}
	assert.NotContains(t, got, `sluice_free{policy="a"`)
	remove()
	assert.Empty(t, scraped(t, collector))
}

// TestOne is a pipeline alone, and none.
func TestOne(t *testing.T) {
	set := parse(t, document)
	collector := sluiceprometheus.New()
	collector.AddPipeline(set.Pipeline("missing"))()
	remove := collector.AddPipeline(set.Pipeline("tenant"))
	assert.NoError(t, call(set.Pipeline("tenant"), "a", 0, nil))
	assert.NoError(t, call(set.Pipeline("vendor"), "", 0, nil))
	got := scraped(t, collector)
	assert.Contains(t, got, `sluice_keys{policy="tenant",step="limit"} 1.0`)
	assert.NotContains(t, got, "vendor")
	remove()
	remove()
	assert.Empty(t, scraped(t, collector))
}

type traceKey struct{}

// TestExemplars has the trace of the latest call in each range, and none of calls without
// a trace.
func TestExemplars(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := parse(t, "version: 1\npolicies: {a: {steps: [bulkhead: 7]}}")
		collector := sluiceprometheus.New(sluiceprometheus.WithTraceID(func(ctx context.Context) string {
			id, _ := ctx.Value(traceKey{}).(string)
			return id
		}))
		defer collector.AddSet(set)()
		for _, c := range []struct {
			id    string
			takes time.Duration
		}{{"one", time.Millisecond}, {"two", time.Second}, {"three", time.Second}, {"", time.Minute}} {
			ctx := context.Background()
			if c.id != "" {
				ctx = context.WithValue(ctx, traceKey{}, c.id)
			}
			_, err := sluice.Do(ctx, set.Pipeline("a"), func(context.Context) (int, error) {
				time.Sleep(c.takes)
				return 1, nil
			})
			assert.NoError(t, err)
		}
		var found []string
		for line := range strings.Lines(scraped(t, collector)) {
			if _, exemplar, ok := strings.Cut(line, " # "); ok {
				found = append(found, exemplar[:strings.Index(exemplar, "}")+1])
			}
		}
		assert.Equal(t, []string{`{trace_id="one"}`, `{trace_id="three"}`}, found)
	})
}

// TestComeAndGo has collectors come and go while calls run: one that stays counts every
// call once, others never more.
func TestComeAndGo(t *testing.T) {
	const callers, calls = 4, 300
	set := parse(t, "version: 1\npolicies: {a: {steps: [limit: 600/1h, bulkhead: 100]}}")
	p := set.Pipeline("a")
	collector := sluiceprometheus.New()
	collector.AddSet(set)
	var all, visitors sync.WaitGroup
	over := make(chan struct{})
	for range 2 {
		visitors.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				visitor := sluiceprometheus.New()
				remove := visitor.AddPipeline(p)
				scraped(t, visitor)
				remove()
				assert.Empty(t, scraped(t, visitor))
			}
		})
	}
	for range callers {
		all.Go(func() {
			for range calls {
				_ = call(p, "", 0, nil)
			}
		})
	}
	all.Wait()
	close(over)
	visitors.Wait()
	got := scraped(t, collector)
	for _, line := range []string{
		`sluice_decisions_total{decision="admit",policy="a",reason="",shadow="false",step=""} 600.0`,
		`sluice_decisions_total{decision="end",policy="a",reason="",shadow="false",step=""} 600.0`,
		`sluice_decisions_total{decision="reject",policy="a",reason="rate",shadow="false",step="limit"} 600.0`,
		`sluice_call_duration_seconds_count{outcome="ok",policy="a"} 600`,
		`sluice_call_duration_seconds_count{outcome="refused",policy="a"} 600`,
		`sluice_in_use{policy="a",step="bulkhead"} 0.0`,
	} {
		assert.Contains(t, got, line+"\n")
	}
}
