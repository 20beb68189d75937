package main

import (
	"context"
	"time"

	"github.com/failsafe-go/failsafe-go/ratelimiter"
	bucket "github.com/juju/ratelimit"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	uber "go.uber.org/ratelimit"
	"golang.org/x/time/rate"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/slidinglog"
)

// quota is count permits for each period, and as many at once.
type quota struct {
	count  int
	period time.Duration
}

var (
	// plenty refuses nothing: it has more permits than any case needs.
	plenty = quota{1_000_000_000, time.Second}
	// scant refuses all but the first.
	scant = quota{1, 24 * time.Hour}
)

// limiters are the peers. The last one blocks, and does not refuse.
var limiters = []struct {
	name string
	make func(quota) allower
}{
	{"x/time/rate", rateLimiter},
	{"failsafe-go smooth", failsafeSmooth},
	{"failsafe-go bursty", failsafeBursty},
	{"throttled", throttledLimiter},
	{"go-limiter", sethvargoLimiter},
	{"juju/ratelimit", jujuLimiter},
	{"uber ratelimit", uberLimiter},
}

// algorithms are those that admit by another rule than x/time/rate. A sliding log
// keeps a mark for each permit of its period, and has a shorter one.
var algorithms = []struct {
	algorithm limiter.Algorithm
	plenty    quota
}{
	{limiter.FixedWindow, plenty},
	{limiter.SlidingCounter, plenty},
	{limiter.SlidingLog, quota{slidinglog.MaxCount, 100 * time.Microsecond}},
	{limiter.LeakyBucket, plenty},
}

func limiterTasks() []task {
	tasks := []task{
		limiterTask("limiter allow", repeated, plenty, map[string]float64{"x/time/rate": 2.2, "failsafe-go smooth": 1}),
		limiterTask("limiter allow, parallel", crowded, plenty, map[string]float64{"x/time/rate": 1.5}),
		limiterTask("limiter allow, contended", contended, plenty, nil),
		limiterTask("limiter refused", repeated, scant, nil),
		limiterTask("limiter refused, parallel", crowded, scant, nil),
	}
	tasks = append(tasks, task{name: "limiter allow, after a reservation", allocs: 0, sluice: repeated(asking(ourReserved, true)), peers: []peer{
		{"x/time/rate", repeated(asking(rateReserved, true)), 1.5},
		{"without a reservation", repeated(ourAllowance), 0},
	}})
	for _, a := range algorithms {
		name := a.algorithm.String()
		tasks = append(tasks,
			algorithmTask("limiter allow, "+name, repeated, a.algorithm, a.plenty, plenty),
			algorithmTask("limiter refused, "+name, repeated, a.algorithm, scant, scant))
		if a.algorithm != limiter.LeakyBucket { // which refuses the second of two calls at one mark
			tasks = append(tasks, algorithmTask("limiter allow, "+name+", parallel", crowded, a.algorithm, a.plenty, plenty))
		}
	}
	return tasks
}

func algorithmTask(name string, how func(caller) contender, a limiter.Algorithm, q, peers quota) task {
	admits := q != scant
	return task{name: name, allocs: 0, sluice: how(asking(ourAlgorithm(a, q), admits)), peers: []peer{
		{"x/time/rate", how(asking(rateLimiter(peers), admits)), 1},
	}}
}

func limiterTask(name string, how func(caller) contender, q quota, targets map[string]float64) task {
	t := task{name: name, allocs: 0, sluice: how(asking(ourLimiter(q), q == plenty))}
	for i, l := range limiters {
		if q == plenty || i < len(limiters)-1 {
			t.peers = append(t.peers, peer{l.name, how(asking(l.make(q), q == plenty)), targets[l.name]})
		}
	}
	return t
}

func ourLimiter(q quota) allower { return ourAlgorithm(limiter.TokenBucket, q) }

func ourAlgorithm(a limiter.Algorithm, q quota) allower {
	return func(context.Context) func() bool {
		return must(sluice.NewLimiter(limiter.Config{Algorithm: a, Count: uint32(q.count), Period: q.period})).Allow
	}
}

// reserved of burst permits, one a second, are reserved before a case: it takes longer than
// the case until the bucket is full again.
const reserved, burst = 1_000_000, 1_000_000_000

func ourReserved(context.Context) func() bool {
	l := must(sluice.NewLimiter(limiter.Config{Count: 1, Period: time.Second, Burst: burst}))
	must(l.Reserve(reserved, 0))
	return l.Allow
}

func rateReserved(context.Context) func() bool {
	l := rate.NewLimiter(1, burst)
	l.ReserveN(time.Now(), reserved)
	return l.Allow
}

func rateLimiter(q quota) allower {
	return func(context.Context) func() bool {
		return rate.NewLimiter(rate.Every(q.period/time.Duration(q.count)), q.count).Allow
	}
}

func failsafeSmooth(q quota) allower {
	return func(context.Context) func() bool {
		return ratelimiter.NewSmooth[any](uint(q.count), q.period).TryAcquirePermit
	}
}

func failsafeBursty(q quota) allower {
	return func(context.Context) func() bool {
		return ratelimiter.NewBursty[any](uint(q.count), q.period).TryAcquirePermit
	}
}

func throttledLimiter(q quota) allower {
	return func(ctx context.Context) func() bool {
		return one(throttledKeyed(0)(ctx, q.period/time.Duration(q.count), q.count))
	}
}

// throttledKeyed keeps at most as many keys, or all of them for 0.
func throttledKeyed(maxKeys int) keyed {
	return func(_ context.Context, every time.Duration, burst int) func(string) bool {
		l := must(throttled.NewGCRARateLimiterCtx(must(memstore.NewCtx(maxKeys)),
			throttled.RateQuota{MaxRate: throttled.PerDuration(1, every), MaxBurst: burst - 1}))
		// After ten tries, the default, it fails when many goroutines use the same
		// key.
		l.SetMaxCASAttemptsLimit(1_000_000)
		return func(key string) bool {
			limited, _, err := l.RateLimitCtx(context.Background(), key, 1)
			good(err)
			return !limited
		}
	}
}

// sethvargoLimiter has a window of a day whatever the period: version 0.7.1 does
// not refill more than the square root of the window's nanoseconds.
func sethvargoLimiter(q quota) allower {
	return func(ctx context.Context) func() bool {
		return one(sethvargoStore(ctx, memorystore.Config{Tokens: uint64(q.count), Interval: 24 * time.Hour, InitialAlloc: 1}))
	}
}

func sethvargoStore(ctx context.Context, c memorystore.Config) func(string) bool {
	store := must(memorystore.New(&c))
	closing.Go(func() {
		<-ctx.Done()
		good(store.Close(context.Background()))
	})
	return func(key string) bool {
		_, _, _, ok, err := store.Take(context.Background(), key)
		good(err)
		return ok
	}
}

// one uses a limiter with keys for one.
func one(allow func(string) bool) func() bool {
	return func() bool { return allow("the only key") }
}

func jujuLimiter(q quota) allower {
	return func(context.Context) func() bool {
		b := bucket.NewBucket(q.period/time.Duration(q.count), int64(q.count))
		return func() bool { return b.TakeAvailable(1) == 1 }
	}
}

func uberLimiter(q quota) allower {
	return func(context.Context) func() bool {
		l := uber.New(q.count, uber.Per(q.period))
		return func() bool { return !l.Take().IsZero() }
	}
}
