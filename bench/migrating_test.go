package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/failsafe-go/failsafe-go"
	failsafebulkhead "github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/fallback"
	"github.com/failsafe-go/failsafe-go/hedgepolicy"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"
	"github.com/sony/gobreaker/v2"
	"golang.org/x/time/rate"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// migrations are the rows of docs/migrating.md that run: each plays one script with both
// libraries, in virtual time, and the results are equal, or differ as the row says.
var migrations = map[string]func(*testing.T){
	"x-allow":              migrateXAllow,
	"x-every":              migrateXEvery,
	"x-wait":               migrateXWait,
	"x-reserve":            migrateXReserve,
	"x-set":                migrateXSet,
	"x-back":               migrateXBack,
	"gobreaker-default":    migrateGoDefault,
	"gobreaker-interval":   migrateGoInterval,
	"gobreaker-rate":       migrateGoRate,
	"gobreaker-probes":     migrateGoProbes,
	"gobreaker-two-step":   migrateGoTwoStep,
	"gobreaker-classify":   migrateGoClassify,
	"failsafe-smooth":      migrateSmooth,
	"failsafe-grid":        migrateGrid,
	"failsafe-bursty":      migrateBursty,
	"failsafe-consecutive": migrateConsecutive,
	"failsafe-rate":        migrateRate,
	"failsafe-retry":       migrateRetries,
	"failsafe-bulkhead":    migrateBulkhead,
	"failsafe-panic":       migratePanic,
	"failsafe-timeout":     migrateTimeout,
	"failsafe-hedge":       migrateHedge,
	"failsafe-fallback":    migrateFallback,
	"failsafe-order":       migrateOrder,
}

var rowOfMigration = regexp.MustCompile("(?m)^\\|.*\\| `([a-z-]+)` \\|$")

// TestMigrations runs the rows of the page, and looks for rows and scripts without each other.
func TestMigrations(t *testing.T) {
	page, err := os.ReadFile("../docs/migrating.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, found := range rowOfMigration.FindAllStringSubmatch(string(page), -1) {
		rows = append(rows, found[1])
	}
	slices.Sort(rows)
	rows = slices.Compact(rows)
	if names := slices.Sorted(maps.Keys(migrations)); !slices.Equal(rows, names) {
		t.Fatalf("docs/migrating.md has %q, the test %q", rows, names)
	}
	for _, name := range rows {
		t.Run(name, func(t *testing.T) { synctest.Test(t, migrations[name]) })
	}
}

// steps is a pipeline of some steps of a document.
func steps(list ...string) *sluice.Pipeline {
	src := "version: 1\npolicies: {p: {steps: [" + strings.Join(list, ", ") + "]}}"
	// Windows begin with the clock, which begins here.
	return must(sluice.Parse("migrating.yaml", []byte(src), sluice.WithClock(clock.NewMonotonic()))).Pipeline("p")
}

var errDown = errors.New("down")

// equal compares what both libraries did. What they do is not constant, or the script would
// show nothing.
func equal[T comparable](t *testing.T, ours, theirs []T) {
	t.Helper()
	if !slices.Equal(ours, theirs) {
		t.Errorf("Sluice %v\nother  %v", ours, theirs)
	}
	if len(slices.Compact(slices.Clone(ours))) < 2 {
		t.Errorf("found %v alone", ours)
	}
}

// every asks both at equal intervals.
func every(t *testing.T, n int, gap time.Duration, ours, theirs func() bool) {
	t.Helper()
	var a, b []bool
	for range n {
		a, b = append(a, ours()), append(b, theirs())
		time.Sleep(gap)
	}
	equal(t, a, b)
}

func migrateXAllow(t *testing.T) {
	x, l := rate.NewLimiter(10, 5), must(sluice.NewLimiter(sluice.LimiterConfig{Count: 10, Period: time.Second, Burst: 5}))
	every(t, 200, 37*time.Millisecond, l.Allow, x.Allow)
	n := 0
	every(t, 50, 170*time.Millisecond, func() bool { n++; return l.AllowN(uint32(n % 7)) }, func() bool { return x.AllowN(time.Now(), n%7) })
}

func migrateXEvery(t *testing.T) {
	x := rate.NewLimiter(rate.Every(3*time.Second), 1)
	p := steps("limit: 1/3s")
	every(t, 40, 1100*time.Millisecond, func() bool { return call(p, nil) == nil }, x.Allow)
}

// call makes a call whose function returns an error.
func call(p *sluice.Pipeline, err error) error {
	_, failure := sluice.Do(context.Background(), p, func(context.Context) (int, error) { return 0, err })
	return failure
}

func migrateXWait(t *testing.T) {
	x, l := rate.NewLimiter(10, 2), must(sluice.NewLimiter(sluice.LimiterConfig{Count: 10, Period: time.Second, Burst: 2}))
	waits := func(wait func(context.Context) error) (list []string) {
		for i := range 6 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i%2*149)*time.Millisecond)
			start := time.Now()
			err := wait(ctx)
			cancel()
			list = append(list, fmt.Sprint(time.Since(start).Round(time.Millisecond), err == nil))
		}
		return list
	}
	equal(t, waits(l.Wait), waits(x.Wait))
}

func migrateXReserve(t *testing.T) {
	x, l := rate.NewLimiter(10, 2), must(sluice.NewLimiter(sluice.LimiterConfig{Count: 10, Period: time.Second, Burst: 2}))
	var ours, theirs []time.Duration
	for i := range 6 {
		a, b := must(l.Reserve(1, time.Hour)), x.Reserve()
		ours, theirs = append(ours, a.Delay()), append(theirs, b.Delay().Round(time.Microsecond))
		if i == 4 {
			a.Cancel()
			b.Cancel()
		}
	}
	equal(t, ours, theirs)

	// A cancel after the turn, when the permit may have been used, returns nothing: 1,000 acts a
	// second would pass else.
	x, l = rate.NewLimiter(1, 1), must(sluice.NewLimiter(sluice.LimiterConfig{Count: 1, Period: time.Second, Burst: 1}))
	var acts [2]int
	for range 100 {
		if a, err := l.Reserve(1, 0); err == nil {
			acts[0]++
			time.Sleep(time.Millisecond)
			a.Cancel()
		} else {
			time.Sleep(time.Millisecond)
		}
	}
	for range 100 {
		b := x.Reserve()
		if b.Delay() == 0 {
			acts[1]++
		}
		time.Sleep(time.Millisecond)
		b.Cancel()
	}
	if acts != [2]int{1, 1} {
		t.Errorf("acts in 100 ms at one a second: %d here, %d there; want one", acts[0], acts[1])
	}
}

func migrateXSet(t *testing.T) {
	x, l := rate.NewLimiter(10, 5), must(sluice.NewLimiter(sluice.LimiterConfig{Count: 10, Period: time.Second, Burst: 5}))
	every(t, 7, 0, l.Allow, x.Allow)
	x.SetLimit(2)
	good(l.Configure(sluice.LimiterConfig{Count: 2, Period: time.Second, Burst: 5}))
	every(t, 40, 170*time.Millisecond, l.Allow, x.Allow)
}

// migrateXBack is a difference: marks that go back make permits there and none here.
func migrateXBack(t *testing.T) {
	x := rate.NewLimiter(10, 10)
	now, there := time.Now(), 0
	for i := range 200 {
		if x.AllowN(now.Add(time.Duration(i%2)*time.Second), 1) {
			there++
		}
	}
	marks := backAndForth{step: time.Second}
	l := must(sluice.NewLimiter(sluice.LimiterConfig{Count: 10, Period: time.Second, Burst: 10}, sluice.WithClock(&marks)))
	here := 0
	for range 200 {
		if l.Allow() {
			here++
		}
	}
	if there != 200 || here > 20 {
		t.Errorf("admitted there %d, here %d", there, here)
	}
}

// backAndForth is a clock whose marks go forth and back.
type backAndForth struct {
	step time.Duration
	n    int
}

// Now implements clock.Source.
func (b *backAndForth) Now() clock.Mark {
	b.n++
	return clock.Mark(time.Duration(b.n%2) * b.step)
}

// vote calls both breakers with equal outcomes.
func vote(p *sluice.Pipeline, other func(func() (int, error)) (int, error), fails bool) (ours, theirs bool) {
	var err error
	if fails {
		err = errDown
	}
	called := false
	_, _ = other(func() (int, error) { called = true; return 0, err })
	return !errors.Is(call(p, err), sluice.ErrRejected), called
}

// votes plays outcomes, one each gap: + is a success, - a failure and . a pause without a call.
func votes(t *testing.T, script string, gap time.Duration, p *sluice.Pipeline, other func(func() (int, error)) (int, error)) {
	t.Helper()
	var ours, theirs []bool
	for _, outcome := range script {
		if outcome != '.' {
			a, b := vote(p, other, outcome == '-')
			ours, theirs = append(ours, a), append(theirs, b)
		}
		time.Sleep(gap)
	}
	equal(t, ours, theirs)
}

const (
	outages = "+-----+------......+......+--+" // five failures, then six; a probe that succeeds
	relapse = "------......-......-++......+++-"
)

// grows are failures of a third of the calls, then of all, until long after the breaker has
// opened, then successes.
var grows = strings.Repeat("++-", 30) + strings.Repeat("-", 150) + strings.Repeat("+", 100)

func migrateGoDefault(t *testing.T) {
	b := gobreaker.NewCircuitBreaker[int](gobreaker.Settings{})
	votes(t, outages+relapse, 11*time.Second, steps("breaker: {window: {consecutive: 6}, open: 1m, probes: 1}"), b.Execute)
}

func migrateGoInterval(t *testing.T) {
	b := gobreaker.NewCircuitBreaker[int](gobreaker.Settings{Interval: time.Minute})
	p := steps("breaker: {window: {consecutive: 6, forget: 1m}, open: 1m, probes: 1}")
	// Five failures, and five a while later, open neither; six at once open both.
	votes(t, "-----"+strings.Repeat(".", 15)+"-----"+strings.Repeat(".", 15)+"------.-.......+++", 9*time.Second, p, b.Execute)
}

func migrateGoRate(t *testing.T) {
	b := gobreaker.NewCircuitBreaker[int](gobreaker.Settings{
		Interval: 10 * time.Second, BucketPeriod: time.Second, Timeout: 5 * time.Second,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.Requests >= 20 && c.TotalFailures*2 >= c.Requests },
	})
	p := steps("breaker: {window: {time: 10s, buckets: 10}, minimum: 20, failure_rate: 50%, open: 5s, probes: 1}")
	votes(t, grows, 101*time.Millisecond, p, b.Execute)
}

func migrateGoProbes(t *testing.T) {
	b := gobreaker.NewCircuitBreaker[int](gobreaker.Settings{MaxRequests: 3, Timeout: 30 * time.Second})
	p := steps("breaker: {window: {consecutive: 6}, open: 30s, probes: 3}")
	votes(t, "------...++-.++....++++-", 11*time.Second, p, b.Execute)
}

func migrateGoTwoStep(t *testing.T) {
	other := gobreaker.NewTwoStepCircuitBreaker[int](gobreaker.Settings{})
	ours := must(sluice.NewBreaker(sluice.BreakerConfig{Window: sluice.WindowConsecutive, Count: 6, Probes: 1,
		Open: sluice.BackoffConfig{Kind: sluice.BackoffConstant, Base: time.Minute}}))
	every(t, 20, 13*time.Second, func() bool {
		pass, ok := ours.TryAcquire()
		if ok {
			pass.Done(reducer.Fail)
		}
		return ok
	}, func() bool {
		done, err := other.Allow()
		if err == nil {
			done(errDown)
		}
		return err == nil
	})
}

func migrateGoClassify(t *testing.T) {
	errUser, errGone := errors.New("no such user"), errors.New("the caller has gone")
	other := gobreaker.NewCircuitBreaker[int](gobreaker.Settings{
		IsSuccessful: func(err error) bool { return err == nil || errors.Is(err, errUser) },
		IsExcluded:   func(err error) bool { return errors.Is(err, errGone) },
	})
	ours := must(sluice.NewBreaker(sluice.BreakerConfig{Window: sluice.WindowConsecutive, Count: 6, Probes: 1},
		sluice.WithClassify(func(err error) reducer.Outcome {
			switch {
			case errors.Is(err, errUser):
				return reducer.OK
			case errors.Is(err, errGone):
				return reducer.Ignore
			}
			return reducer.Fail
		})))
	var a, b []bool
	for _, err := range []error{errDown, errDown, errDown, errDown, errDown, errUser, errDown, errDown, errDown, errGone, errDown, errDown, errDown, errDown} {
		called := false
		_, _ = other.Execute(func() (int, error) { called = true; return 0, err })
		b = append(b, called)
		a = append(a, !errors.Is(ours.Do(t.Context(), func(context.Context) error { return err }), sluice.ErrRejected))
	}
	equal(t, a, b)
}

func migrateSmooth(t *testing.T) {
	other := ratelimiter.NewSmooth[int](10, time.Second)
	p := steps("limit: {algorithm: leaky-bucket, rate: 10/1s}")
	every(t, 100, 25*time.Millisecond, func() bool { return call(p, nil) == nil }, other.TryAcquirePermit)
}

// migrateGrid is a difference: there one permit belongs to each interval of a grid, so that
// two may come sooner after each other than an interval.
func migrateGrid(t *testing.T) {
	closest := func(allow func() bool) time.Duration {
		last, least := time.Time{}, time.Hour
		for range 100 {
			if allow() {
				least, last = min(least, time.Since(last)), time.Now()
			}
			time.Sleep(37 * time.Millisecond)
		}
		return least
	}
	p := steps("limit: {algorithm: leaky-bucket, rate: 10/1s}")
	ours := closest(func() bool { return call(p, nil) == nil })
	theirs := closest(ratelimiter.NewSmooth[int](10, time.Second).TryAcquirePermit)
	if ours < 100*time.Millisecond || theirs >= 100*time.Millisecond {
		t.Errorf("least distance here %v, there %v", ours, theirs)
	}
}

func migrateBursty(t *testing.T) {
	other := ratelimiter.NewBursty[int](10, time.Second)
	p := steps("limit: {algorithm: fixed-window, rate: 10/1s}")
	every(t, 100, 25*time.Millisecond, func() bool { return call(p, nil) == nil }, other.TryAcquirePermit)
}

// failsafely runs a function with policies of failsafe-go.
func failsafely(policies ...failsafe.Policy[int]) func(func() (int, error)) (int, error) {
	executor := failsafe.With(policies...)
	return func(fn func() (int, error)) (int, error) { return executor.Get(fn) }
}

func migrateConsecutive(t *testing.T) {
	b := circuitbreaker.NewBuilder[int]().WithFailureThreshold(5).WithSuccessThreshold(2).WithDelay(time.Minute).Build()
	p := steps("breaker: {window: {consecutive: 5}, open: 1m, probes: 2}")
	votes(t, "+----+-----.-.+...+-.+.....++-+----+----", 10*time.Second, p, failsafely(b))
}

func migrateRate(t *testing.T) {
	b := circuitbreaker.NewBuilder[int]().WithFailureRateThreshold(0.5, 20, 10*time.Second).WithSuccessThreshold(1).WithDelay(5 * time.Second).Build()
	p := steps("breaker: {window: {time: 10s, buckets: 10}, minimum: 20, failure_rate: 50%, open: 5s, probes: 1}")
	votes(t, grows, 101*time.Millisecond, p, failsafely(b))
}

// marksOf returns when a function that fails is called.
func marksOf(through func(func() (int, error)) (int, error)) (list []time.Duration) {
	start := time.Now()
	_, _ = through(func() (int, error) {
		list = append(list, time.Since(start))
		return 0, errDown
	})
	return list
}

// through runs a function through a pipeline.
func through(p *sluice.Pipeline) func(func() (int, error)) (int, error) {
	return func(fn func() (int, error)) (int, error) {
		return sluice.Do(context.Background(), p, func(context.Context) (int, error) { return fn() })
	}
}

func migrateRetries(t *testing.T) {
	other := retrypolicy.NewBuilder[int]().WithMaxRetries(5).WithBackoff(100*time.Millisecond, time.Second).Build()
	p := steps("retry: {attempts: 6, backoff: {exponential: 100ms, max: 1s}, jitter: none}")
	equal(t, marksOf(through(p)), marksOf(failsafely(other)))
}

func migrateBulkhead(t *testing.T) {
	other := failsafebulkhead.NewBuilder[int](2).WithMaxWaitTime(150 * time.Millisecond).Build()
	p := steps("bulkhead: {concurrent: 2, queue: 100, wait: 150ms}")
	// Each of the calls holds its place for 100 ms.
	load := func(through func(func() (int, error)) (int, error)) []string {
		ends := make(chan string, 6)
		start := time.Now()
		for i := range 6 {
			time.Sleep(time.Millisecond)
			go func() {
				_, err := through(func() (int, error) { time.Sleep(100 * time.Millisecond); return 0, nil })
				ends <- fmt.Sprint(i, time.Since(start), err == nil)
			}()
		}
		var list []string
		for range 6 {
			list = append(list, <-ends)
		}
		slices.Sort(list)
		return list
	}
	equal(t, load(through(p)), load(failsafely(other)))
}

// migratePanic is a difference: there a panic keeps the place.
func migratePanic(t *testing.T) {
	free := func(through func(func() (int, error)) (int, error)) (ok bool) {
		func() {
			defer func() { _ = recover() }()
			_, _ = through(func() (int, error) { panic("bug") })
		}()
		_, err := through(func() (int, error) { return 0, nil })
		return err == nil
	}
	ours, theirs := free(through(steps("bulkhead: 1"))), free(failsafely(failsafebulkhead.New[int](1)))
	if !ours || theirs {
		t.Errorf("free after a panic: here %v, there %v", ours, theirs)
	}
}

func migrateTimeout(t *testing.T) {
	ends := func(cut error, through func(context.Context, func(context.Context) (int, error)) (int, error)) (list []string) {
		for _, d := range []time.Duration{time.Millisecond, time.Second} {
			start := time.Now()
			_, err := through(t.Context(), func(ctx context.Context) (int, error) {
				select {
				case <-time.After(d):
					return 0, nil
				case <-ctx.Done():
					return 0, ctx.Err()
				}
			})
			list = append(list, fmt.Sprint(time.Since(start), errors.Is(err, cut)))
		}
		return list
	}
	p := steps("timeout: 100ms")
	ours := ends(context.DeadlineExceeded, func(ctx context.Context, fn func(context.Context) (int, error)) (int, error) {
		return sluice.Do(ctx, p, fn)
	})
	theirs := ends(timeout.ErrExceeded, func(ctx context.Context, fn func(context.Context) (int, error)) (int, error) {
		return failsafe.With(timeout.New[int](100 * time.Millisecond)).WithContext(ctx).GetWithExecution(func(exec failsafe.Execution[int]) (int, error) { return fn(exec.Context()) })
	})
	equal(t, ours, theirs)
}

func migrateHedge(t *testing.T) {
	// The second attempt answers first.
	race := func(through func(func() (int, error)) (int, error)) []string {
		start, n := time.Now(), make(chan int, 2)
		n <- 1
		n <- 2
		value, err := through(func() (int, error) {
			number := <-n
			time.Sleep(time.Second / time.Duration(number*number*number))
			return number, nil
		})
		took := time.Since(start)
		time.Sleep(time.Minute) // until the loser has returned
		return []string{fmt.Sprint(value, err), took.String()}
	}
	p := steps("hedge: {after: 100ms, max: 1, budget: none}")
	equal(t, race(through(p)), race(failsafely(hedgepolicy.NewWithDelay[int](100*time.Millisecond))))
}

func migrateFallback(t *testing.T) {
	const instead = 7
	other := failsafely(fallback.NewWithResult(instead), failsafebulkhead.New[int](1))
	p := steps("bulkhead: 1")
	ours := func(fn func() (int, error)) (int, error) {
		value, err := through(p)(fn)
		if err != nil {
			return instead, nil
		}
		return value, nil
	}
	values := func(through func(func() (int, error)) (int, error)) (list []int) {
		for _, err := range []error{nil, errDown} {
			value, _ := through(func() (int, error) {
				inner, _ := through(func() (int, error) { return 1, nil }) // finds no place
				return inner + 1, err
			})
			list = append(list, value)
		}
		return list
	}
	equal(t, values(ours), values(other))
}

// migrateOrder is a difference: there a refusal by the breaker below is retried.
func migrateOrder(t *testing.T) {
	b := circuitbreaker.NewBuilder[int]().WithFailureThreshold(2).WithDelay(time.Minute).Build()
	other := failsafely(retrypolicy.NewBuilder[int]().WithMaxAttempts(4).WithDelay(time.Second).Build(), b)
	p := steps("retry: {attempts: 4, backoff: {constant: 1s}, jitter: none}", "breaker: {window: {consecutive: 2}, open: 1m}")
	took := func(through func(func() (int, error)) (int, error)) (time.Duration, int) {
		start := time.Now()
		calls := len(marksOf(through))
		return time.Since(start), calls
	}
	ours, n := took(through(p))
	theirs, m := took(other)
	if ours != time.Second || n != 2 || theirs != 3*time.Second || m != 2 {
		t.Errorf("here %v and %d calls, there %v and %d", ours, n, theirs, m)
	}
}
