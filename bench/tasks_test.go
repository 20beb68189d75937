package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/failsafe-go/failsafe-go"
	failsafebulkhead "github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/failsafe-go/failsafe-go/fallback"
	"github.com/failsafe-go/failsafe-go/hedgepolicy"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
)

var rewrite = flag.Bool("rewrite", false, "write the ten tasks into docs/migrating.md")

// price is what the tasks ask for.
type price int

var (
	errBusy = errors.New("busy")
	errGone = errors.New("gone")
)

// fetch is the function that the tasks guard. play sets it.
var fetch func(context.Context) (price, error)

// transport is what the tasks send requests with. play sets it.
var transport http.RoundTripper

const url = "http://vendor.example/prices"

// twoWays is what users do, with failsafe-go and with Sluice.
type twoWays struct {
	title        string
	theirs, ours string // the functions
	play         []scenario
	runs         [2]func(context.Context) (price, error)
}

// scenario is what the calls of fetch return, in turn; the last one repeats.
type scenario []result

type result struct {
	err  error
	took time.Duration
}

var (
	succeeds = scenario{{}}
	recovers = scenario{{err: errBusy}, {err: errBusy}, {}}
	fails    = scenario{{err: errBusy}}
	gone     = scenario{{err: errGone}}
	slow     = scenario{{took: time.Minute}, {}}
	hangs    = scenario{{took: time.Minute}}
)

// tasks are in the order of the page.
var tasks = []twoWays{
	{"Retry with exponential backoff and jitter", "theirRetryTask", "ourRetryTask", []scenario{succeeds, recovers, fails}, pair(theirRetryTask, ourRetryTask)},
	{"Retry on given errors alone", "theirRetryOnTask", "ourRetryOnTask", []scenario{succeeds, recovers, fails, gone}, pair(theirRetryOnTask, ourRetryOnTask)},
	{"Circuit breaker with a listener", "theirBreakerTask", "ourBreakerTask", []scenario{succeeds, fails}, pair(theirBreakerTask, ourBreakerTask)},
	{"Rate limit that waits", "theirLimitTask", "ourLimitTask", []scenario{succeeds, fails}, pair(theirLimitTask, ourLimitTask)},
	{"Bulkhead", "theirBulkheadTask", "ourBulkheadTask", []scenario{succeeds, fails}, pair(theirBulkheadTask, ourBulkheadTask)},
	{"Timeout", "theirTimeoutTask", "ourTimeoutTask", []scenario{succeeds, fails, hangs}, pair(theirTimeoutTask, ourTimeoutTask)},
	{"Hedge", "theirHedgeTask", "ourHedgeTask", []scenario{succeeds, slow}, pair(theirHedgeTask, ourHedgeTask)},
	{"Fallback", "theirFallbackTask", "ourFallbackTask", []scenario{succeeds, fails}, pair(theirFallbackTask, ourFallbackTask)},
	{"Retry, breaker and timeout of one function", "theirPolicyTask", "ourPolicyTask", []scenario{succeeds, recovers, fails}, pair(theirPolicyTask, ourPolicyTask)},
	{"HTTP client", "theirClientTask", "ourClientTask", []scenario{succeeds, recovers}, pair(body(theirClientTask), body(ourClientTask))},
}

func pair(theirs, ours func(context.Context) (price, error)) [2]func(context.Context) (price, error) {
	return [2]func(context.Context) (price, error){theirs, ours}
}

func theirRetryTask(ctx context.Context) (price, error) {
	r := retrypolicy.NewBuilder[price]().WithMaxAttempts(5).
		WithBackoff(100*time.Millisecond, 10*time.Second).WithJitterFactor(0.5).Build()
	return failsafe.With(r).WithContext(ctx).Get(func() (price, error) { return fetch(ctx) })
}

func ourRetryTask(ctx context.Context) (price, error) {
	backoff := sluice.Exponential(100*time.Millisecond, 10*time.Second)
	r := sluice.Must(sluice.NewRetry(sluice.RetryConfig{Attempts: 5, Backoff: backoff}))
	return sluice.Execute(ctx, r, fetch)
}

func theirRetryOnTask(ctx context.Context) (price, error) {
	r := retrypolicy.NewBuilder[price]().HandleErrors(errBusy, io.EOF).Build()
	return failsafe.With(r).WithContext(ctx).Get(func() (price, error) { return fetch(ctx) })
}

func ourRetryOnTask(ctx context.Context) (price, error) {
	r := sluice.Must(sluice.NewRetry(sluice.RetryConfig{}, sluice.RetryOn(errBusy, io.EOF)))
	return sluice.Execute(ctx, r, fetch)
}

func theirBreakerTask(ctx context.Context) (price, error) {
	b := circuitbreaker.NewBuilder[price]().WithFailureThreshold(5).OnStateChanged(
		func(e circuitbreaker.StateChangedEvent) { log.Println(e.OldState, e.NewState) }).Build()
	return failsafe.With(b).Get(func() (price, error) { return fetch(ctx) })
}

func ourBreakerTask(ctx context.Context) (price, error) {
	b := sluice.Must(sluice.NewBreaker(sluice.BreakerConfig{Window: sluice.WindowConsecutive, Count: 5}))
	b.Listen(func(e sluice.Event) { log.Println(e.Mode) }, sluice.EventChange)
	return sluice.Execute(ctx, b, fetch)
}

func theirLimitTask(ctx context.Context) (price, error) {
	l := ratelimiter.NewSmoothBuilder[price](10, time.Second).WithMaxWaitTime(time.Minute).Build()
	return failsafe.With(l).WithContext(ctx).Get(func() (price, error) { return fetch(ctx) })
}

func ourLimitTask(ctx context.Context) (price, error) {
	l := sluice.Must(sluice.NewLimiter(sluice.LimiterConfig{Count: 10, Period: time.Second}))
	return sluice.Execute(ctx, l, fetch)
}

func theirBulkheadTask(ctx context.Context) (price, error) {
	b := failsafebulkhead.New[price](10)
	return failsafe.With(b).WithContext(ctx).Get(func() (price, error) { return fetch(ctx) })
}

func ourBulkheadTask(ctx context.Context) (price, error) {
	b := sluice.Must(sluice.NewBulkhead(sluice.BulkheadConfig{Concurrent: 10}))
	return sluice.Execute(ctx, b, fetch)
}

func theirTimeoutTask(ctx context.Context) (price, error) {
	t := timeout.New[price](time.Second)
	return failsafe.With(t).WithContext(ctx).GetWithExecution(
		func(e failsafe.Execution[price]) (price, error) { return fetch(e.Context()) })
}

func ourTimeoutTask(ctx context.Context) (price, error) {
	p := sluice.Must(sluice.New(sluice.PolicyOf("prices", sluice.TimeoutConfig{After: time.Second})))
	return sluice.Do(ctx, p, fetch)
}

func theirHedgeTask(ctx context.Context) (price, error) {
	h := hedgepolicy.NewWithDelay[price](100 * time.Millisecond)
	return failsafe.With(h).WithContext(ctx).GetWithExecution(
		func(e failsafe.Execution[price]) (price, error) { return fetch(e.Context()) })
}

func ourHedgeTask(ctx context.Context) (price, error) {
	h := sluice.Must(sluice.NewHedge(sluice.HedgeConfig{After: 100 * time.Millisecond}))
	return sluice.Hedge(ctx, h, fetch)
}

func theirFallbackTask(ctx context.Context) (price, error) {
	f := fallback.NewWithResult[price](-1)
	return failsafe.With(f).WithContext(ctx).Get(func() (price, error) { return fetch(ctx) })
}

func ourFallbackTask(ctx context.Context) (price, error) {
	p, err := fetch(ctx)
	return sluice.OrElse(ctx, p, err, sluice.FallbackTo[price](-1))
}

func theirPolicyTask(ctx context.Context) (price, error) {
	r := retrypolicy.NewBuilder[price]().WithBackoff(100*time.Millisecond, time.Second).Build()
	b := circuitbreaker.NewBuilder[price]().WithFailureThreshold(5).Build()
	t := timeout.New[price](time.Second)
	return failsafe.With(r, b, t).WithContext(ctx).GetWithExecution(
		func(e failsafe.Execution[price]) (price, error) { return fetch(e.Context()) })
}

func ourPolicyTask(ctx context.Context) (price, error) {
	r := sluice.RetryConfig{Backoff: sluice.Exponential(100*time.Millisecond, time.Second)}
	b := sluice.BreakerConfig{Window: sluice.WindowConsecutive, Count: 5}
	t := sluice.TimeoutConfig{After: time.Second}
	p := sluice.Must(sluice.New(sluice.PolicyOf("prices", r, b, t)))
	return sluice.Do(ctx, p, fetch)
}

func theirClientTask() (*http.Response, error) {
	r := failsafehttp.NewRetryPolicyBuilder().WithBackoff(100*time.Millisecond, time.Second).Build()
	t := timeout.New[*http.Response](time.Second)
	client := http.Client{Transport: failsafehttp.NewRoundTripper(transport, r, t)}
	return client.Get(url)
}

func ourClientTask() (*http.Response, error) {
	r := sluice.RetryConfig{Backoff: sluice.Exponential(100*time.Millisecond, time.Second)}
	t := sluice.TimeoutConfig{After: time.Second}
	p := sluice.Must(sluice.New(sluice.PolicyOf("vendor", r, t)))
	client := http.Client{Transport: nethttp.NewTransport(transport, p)}
	return client.Get(url)
}

// body makes a price of the answer of a client.
func body(get func() (*http.Response, error)) func(context.Context) (price, error) {
	return func(context.Context) (price, error) {
		answer, err := get()
		if err != nil {
			return 0, err
		}
		defer answer.Body.Close()
		_, err = io.Copy(io.Discard, answer.Body)
		return price(answer.StatusCode), err
	}
}

// play runs a task and returns what its caller sees, and how often it called the function.
func (s scenario) play(run func(context.Context) (price, error)) string {
	calls := 0
	fetch = func(ctx context.Context) (price, error) {
		r := s[min(calls, len(s)-1)]
		calls++
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(r.took):
			return price(100), r.err
		}
	}
	transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		status := http.StatusOK
		if _, err := fetch(r.Context()); err != nil {
			status = http.StatusServiceUnavailable
		}
		return &http.Response{StatusCode: status, Body: http.NoBody, Request: r}, nil
	})
	value, err := run(context.Background())
	time.Sleep(time.Hour) // until what lost has returned
	if err != nil {
		value = 0 // beside an error a value means nothing
	}
	return fmt.Sprint(value, " ", err == nil, " ", errors.Is(err, errBusy), " ", errors.Is(err, errGone), ", calls: ", calls)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestTasksDoTheSame runs each task with both libraries.
func TestTasksDoTheSame(t *testing.T) {
	for _, task := range tasks {
		for i, s := range task.play {
			t.Run(fmt.Sprint(task.title, " ", i), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					if theirs, ours := s.play(task.runs[0]), s.play(task.runs[1]); ours != theirs {
						t.Errorf("failsafe-go %s, Sluice %s", theirs, ours)
					}
				})
			})
		}
	}
}

// widest is how many columns a line of a task may have on either side, a tab being four.
const widest = 110

// TestTasks counts what users type for ten tasks: the lines of each function of this file,
// without its first and its last line. The page has the same lines.
func TestTasks(t *testing.T) {
	src, err := os.ReadFile("tasks_test.go")
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "tasks_test.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[string]string{}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil {
			continue
		}
		lines := strings.TrimSuffix(string(src[files.Position(f.Body.Lbrace).Offset+2:files.Position(f.Body.Rbrace).Offset]), "\n")
		bodies[f.Name.Name] = strings.ReplaceAll("\n"+lines, "\n\t", "\n")[1:]
	}
	theirs, ours := 0, 0
	var page strings.Builder
	for _, task := range tasks {
		fmt.Fprintf(&page, "**%s**\n\n", task.title)
		for _, side := range []struct {
			title, name string
			sum         *int
		}{{"failsafe-go", task.theirs, &theirs}, {"Sluice", task.ours, &ours}} {
			text := bodies[side.name]
			if formatted, err := format.Source([]byte(text)); err != nil || string(formatted) != text {
				t.Errorf("%s is not as gofmt writes it: %v", side.name, err)
			}
			for line := range strings.SplitSeq(text, "\n") {
				if strings.TrimSpace(line) == "" || strings.Contains(line, "//") && !strings.Contains(line, "://") || strings.Contains(line, ";") {
					t.Errorf("%s: %q is not one statement", side.name, line)
				}
				if columns := len(strings.ReplaceAll(line, "\t", "    ")); columns > widest {
					t.Errorf("%s: a line has %d columns", side.name, columns)
				}
				*side.sum++
			}
			fmt.Fprintf(&page, "```go\n// %s\n%s\n```\n\n", side.title, text)
		}
	}
	fmt.Fprintf(&page, "Together %d lines with failsafe-go and %d with Sluice.\n", theirs, ours)
	if ours > theirs || ours > 46 {
		t.Errorf("%d lines, %d with failsafe-go", ours, theirs)
	}
	const begin, end = "<!-- ten tasks -->\n\n", "\n<!-- end -->"
	text, err := os.ReadFile("../docs/migrating.md")
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	found, tail, closed := strings.Cut(rest, end)
	switch {
	case !ok || !closed:
		t.Error("docs/migrating.md has no place for the tasks")
	case *rewrite:
		if err := os.WriteFile("../docs/migrating.md", []byte(head+begin+page.String()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	case found != page.String():
		t.Error("docs/migrating.md differs: go test ./bench -run TestTasks -rewrite")
	}
}
