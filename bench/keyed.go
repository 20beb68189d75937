package main

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/sethvargo/go-limiter/memorystore"
	"golang.org/x/time/rate"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
)

// keyed makes a limiter with a bucket for each key: a permit after every period,
// burst at once. Its use reports whether the key had a free permit.
type keyed func(ctx context.Context, every time.Duration, burst int) func(key string) bool

const (
	// A bucket of heldBurst permits, one every heldEvery, refuses nothing and is
	// not full again while a case lasts: no key can be forgotten.
	heldEvery = 20 * time.Second
	heldBurst = 200_000_000
	// A bucket of one permit, back after newEvery, makes room for other keys.
	newEvery = time.Millisecond
	newKeys  = 1_000_000
	// pipelineKeys are drawn uniformly.
	pipelineKeys = 100_000
)

type keyedPeer struct {
	name   string
	make   keyed
	target float64 // for many keys in parallel
}

var (
	heldPeers = []keyedPeer{
		{"throttled", throttledKeyed(0), 2},
		{"go-limiter", sethvargoKeyed, 2},
		{"by hand, mutex", mutexMap, 0},
		{"by hand, sync.Map", syncMap, 0},
	}
	// newPeers bound their memory, except the hand-written one.
	newPeers = []keyedPeer{
		{"throttled LRU", throttledKeyed(sluice.DefaultMaxKeys), 0},
		{"go-limiter", sethvargoKeyed, 0},
		{"by hand, mutex", mutexMap, 0},
	}
	keyCounts = []struct {
		n    int
		text string
	}{{1, "1 key"}, {1_000, "1,000 keys"}, {100_000, "100,000 keys"}, {1_000_000, "1,000,000 keys"}}
)

func keyedTasks() []task {
	var tasks []task
	for _, keys := range keyCounts {
		draws := sync.OnceValue(func() []uint32 { return zipf(keys.n) })
		serial := task{name: "keyed, " + keys.text, allocs: 0, sluice: drawn(1, keys.n, draws, ourKeyed(keys.n))}
		cpus := runtime.GOMAXPROCS(0)
		parallel := task{name: serial.name + ", parallel", allocs: 0, sluice: drawn(cpus, keys.n, draws, ourKeyed(keys.n))}
		for _, p := range heldPeers {
			if keys.n != 100_000 {
				p.target = 0
			}
			serial.peers = append(serial.peers, peer{p.name, drawn(1, keys.n, draws, p.make), 0})
			parallel.peers = append(parallel.peers, peer{p.name, drawn(cpus, keys.n, draws, p.make), p.target})
		}
		tasks = append(tasks, serial, parallel)
	}
	draws := sync.OnceValue(func() []uint32 { return uniform(pipelineKeys) })
	step := task{name: "keyed pipeline of one limit", allocs: 0, sluice: drawn(1, pipelineKeys, draws, ourKeyedPipeline)}
	for _, p := range []keyedPeer{{"its own keyed limiter", ourKeyed(pipelineKeys), 0}, {"throttled", throttledKeyed(0), 1.5}, {"go-limiter", sethvargoKeyed, 1.5}} {
		step.peers = append(step.peers, peer{p.name, drawn(1, pipelineKeys, draws, p.make), p.target})
	}
	tasks = append(tasks, step)
	t := task{name: "keyed, new keys", allocs: 0, sluice: repeated(fresh(ourKeyed(0)))}
	for _, p := range newPeers {
		t.peers = append(t.peers, peer{p.name, repeated(fresh(p.make)), 0})
	}
	return append(tasks, t)
}

func memoryTasks() []task {
	var tasks []task
	for _, keys := range keyCounts[2:] {
		t := task{name: "memory, " + keys.text, allocs: -1, most: 64, unit: "B", sluice: grown(keys.n, heldEvery, heldBurst, ourKeyed(keys.n))}
		for _, p := range heldPeers {
			t.peers = append(t.peers, peer{p.name, grown(keys.n, heldEvery, heldBurst, p.make), 0})
		}
		tasks = append(tasks, t)
	}
	// The maximum is 64 B for each kept key, spread over all seen keys.
	t := task{name: "memory, new keys", allocs: -1, most: 64. * sluice.DefaultMaxKeys / newKeys, unit: "B", sluice: grown(newKeys, newEvery, 1, ourKeyed(0))}
	for _, p := range newPeers {
		t.peers = append(t.peers, peer{p.name, grown(newKeys, newEvery, 1, p.make), 0})
	}
	return append(tasks, t)
}

const (
	keyLength = 16
	// textLength is a power of two: of as many distinct keys, each a part of one
	// text, so that making them costs no contender anything.
	textLength = 1 << 24
)

var text = sync.OnceValue(func() string {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
	src := make([]byte, textLength+keyLength)
	// Its Read never fails.
	_, _ = rand.NewChaCha8([32]byte{}).Read(src)
	for i, b := range src {
		src[i] = letters[b%byte(len(letters))]
	}
	return string(src)
})

// zipf draws numbers below n.
func zipf(n int) []uint32 {
	z := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, uint64(n-1))
	draws := make([]uint32, 1<<20)
	for i := range draws {
		draws[i] = uint32(z.Uint64())
	}
	return draws
}

// uniform draws numbers below n.
func uniform(n int) []uint32 {
	rng := rand.New(rand.NewPCG(3, 4))
	draws := make([]uint32, 1<<20)
	for i := range draws {
		draws[i] = rng.Uint32N(uint32(n))
	}
	return draws
}

// drawn uses a limiter that has seen all keys: to insert so many keys for each turn
// would take too long. Each worker begins elsewhere in the sequence.
func drawn(workers, n int, draws func() []uint32, make keyed) contender {
	return func(ctx context.Context) turn {
		allow, src, seq := make(ctx, heldEvery, heldBurst), text(), draws()
		fill(allow, n)
		runtime.GC() // here, because it takes long and the turns do not change it
		return func(o options) figure {
			var uses []func()
			for w := range workers {
				next := w * len(seq) / workers
				uses = append(uses, func() {
					at := int(seq[next&(len(seq)-1)]) * keyLength
					next++
					if !allow(src[at : at+keyLength]) {
						panic("a key is refused")
					}
				})
			}
			return timed(o, uses)
		}
	}
}

func fill(allow func(string) bool, n int) {
	src := text()
	for i := range n {
		if at := i * keyLength & (textLength - 1); !allow(src[at : at+keyLength]) {
			panic("a new key is refused")
		}
	}
}

// fresh uses each key once.
func fresh(make keyed) caller {
	return func(ctx context.Context) func() {
		allow, src, next := make(ctx, newEvery, 1), text(), 0
		return func() {
			at := next & (textLength - 1)
			next++
			if !allow(src[at : at+keyLength]) {
				panic("a new key is refused")
			}
		}
	}
}

// grown measures the growth of the heap by each of n keys. It does not vary, so
// one turn is enough.
func grown(n int, every time.Duration, burst int, make keyed) contender {
	return func(ctx context.Context) turn {
		measure := sync.OnceValue(func() figure {
			_ = text()
			before := heap()
			allow := make(ctx, every, burst)
			fill(allow, n)
			after := heap()
			runtime.KeepAlive(allow)
			return figure{value: float64(after-before) / float64(n)}
		})
		return func(options) figure { return measure() }
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func ourKeyed(n int) keyed {
	return func(_ context.Context, every time.Duration, burst int) func(string) bool {
		c := limiter.Config{Count: 1, Period: every, Burst: uint32(burst)}
		return must(sluice.NewKeyedLimiter(c, sluice.WithMaxKeys(max(n, sluice.DefaultMaxKeys)))).Allow
	}
}

// ourKeyedPipeline is a policy of one step, a limit for each key.
func ourKeyedPipeline(ctx context.Context, every time.Duration, burst int) func(string) bool {
	step := pipeline.Step{Config: limiter.Config{Count: 1, Period: every, Burst: uint32(burst)}, Per: []string{"key"}}
	p := must(sluice.New(pipeline.Policy{Steps: []pipeline.Step{step}}))
	fn := func(context.Context) (int, error) { return work() }
	return func(key string) bool {
		_, err := sluice.DoWith(ctx, p, sluice.Request{Key: key}, fn)
		return err == nil
	}
}

// sethvargoKeyed looks for unused keys every 6 hours, or often in the case with new
// keys.
func sethvargoKeyed(ctx context.Context, every time.Duration, burst int) func(string) bool {
	c := memorystore.Config{Tokens: uint64(burst), Interval: 24 * time.Hour}
	if every == newEvery {
		c.Interval, c.SweepMinTTL, c.SweepInterval = every, every, 10*every
	}
	return sethvargoStore(ctx, c)
}

func mutexMap(_ context.Context, every time.Duration, burst int) func(string) bool {
	var mu sync.Mutex
	limiters := map[string]*rate.Limiter{}
	return func(key string) bool {
		mu.Lock()
		l, ok := limiters[key]
		if !ok {
			l = rate.NewLimiter(rate.Every(every), burst)
			limiters[key] = l
		}
		mu.Unlock()
		return l.Allow()
	}
}

func syncMap(_ context.Context, every time.Duration, burst int) func(string) bool {
	var limiters sync.Map
	return func(key string) bool {
		l, ok := limiters.Load(key)
		if !ok {
			l, _ = limiters.LoadOrStore(key, rate.NewLimiter(rate.Every(every), burst))
		}
		return l.(*rate.Limiter).Allow()
	}
}
