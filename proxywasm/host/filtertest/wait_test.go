package filtertest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/proxywasm/host"
)

// until lets time pass up to a mark after the start, with ticks of all workers at all
// multiples of their period.
func (e *envoy) until(began, mark time.Duration) {
	for e.Monotonic()-began < mark {
		e.Advance(min(waitTick, mark-(e.Monotonic()-began)))
		e.tick()
	}
}

// TestReservations has requests wait on several workers: each has its turn at the limit,
// one after another, and goes on with the first tick from then on.
func TestReservations(t *testing.T) {
	t.Parallel()
	e := start(t, steps("process", `{"limit":{"rate":"10/1s","burst":1,"wait":"450ms","queue":2}}`))
	began := e.Monotonic()
	assert.Equal(t, 200, e.get(0))
	assert.Equal(t, time.Second, e.filter.Worker(0).TickPeriod())
	var streams []*host.Stream
	for i := range 4 {
		s := e.begin(i)
		assert.True(t, s.Paused(), "request %d", i)
		streams = append(streams, s)
	}
	assert.Equal(t, waitTick, e.filter.Worker(0).TickPeriod())
	refused := e.begin(0)
	assert.Equal(t, "wait", reasonOf(refused), "its turn comes in 500 ms")
	assert.Equal(t, "1", refused.Response().Headers.Value("retry-after"))
	for i, s := range streams {
		turn := time.Duration(i+1) * 100 * time.Millisecond
		e.until(began, turn-1)
		assert.True(t, s.Paused(), "request %d", i)
		e.until(began, turn)
		require.NotNil(t, s.Upstream(), "request %d", i)
		answer(s, 200)
	}
	assert.Equal(t, time.Second, e.filter.Worker(0).TickPeriod())
}

// TestQueueOfEachWorker bounds those who wait by worker.
func TestQueueOfEachWorker(t *testing.T) {
	t.Parallel()
	e := start(t, steps("process", `{"limit":{"rate":"1/1m","burst":1,"wait":"1h","queue":2}}`))
	assert.Equal(t, 200, e.get(0))
	for worker := range 2 {
		var streams []*host.Stream
		for range 2 {
			streams = append(streams, e.begin(worker))
			assert.True(t, streams[len(streams)-1].Paused())
		}
		refused := e.begin(worker)
		assert.Equal(t, 429, statusOf(refused))
		assert.Equal(t, "full", reasonOf(refused))
		for _, s := range streams {
			s.Reset()
		}
		s := e.begin(worker)
		assert.True(t, s.Paused(), "who left has left the queue")
		s.Reset()
	}
}

// TestWhoLeavesRefunds gives the permit of a request that waited and left to the next one.
func TestWhoLeavesRefunds(t *testing.T) {
	t.Parallel()
	e := start(t, steps("process", `{"limit":{"rate":"10/1s","burst":1,"wait":"1s"}}`))
	began := e.Monotonic()
	assert.Equal(t, 200, e.get(0))
	first, last := e.begin(1), e.begin(2)
	last.Reset()
	assert.True(t, last.Ended())
	next := e.begin(3)
	e.until(began, 195*time.Millisecond)
	assert.NotNil(t, first.Upstream())
	assert.True(t, next.Paused())
	e.until(began, 200*time.Millisecond)
	assert.NotNil(t, next.Upstream(), "the turn of the one that left")
}

// TestWaitsNeverOverAdmit has random requests wait, leave and pass on all workers: at no
// mark more have passed than the limit allows since the start, and everyone who stays
// passes or is refused in time.
func TestWaitsNeverOverAdmit(t *testing.T) {
	t.Parallel()
	const burst, interval, longest = 2, 50 * time.Millisecond, 220 * time.Millisecond
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 4))
		e := start(t, steps("process", `{"limit":{"rate":"20/1s","burst":2,"wait":"220ms","queue":3}}`))
		began := e.Monotonic()
		type request struct {
			*host.Stream
			came   time.Duration
			worker int
		}
		var waiting []request
		admitted, waited := 0, 0
		for round := range 250 {
			var tasks []func()
			var came [workers]*host.Stream
			for worker := range workers {
				switch random.IntN(20) {
				case 0, 1, 2, 3, 4:
					tasks = append(tasks, func() { came[worker] = e.begin(worker) })
				case 5:
					for _, r := range waiting {
						if r.worker == worker {
							tasks = append(tasks, r.Reset)
							break
						}
					}
				default:
					tasks = append(tasks, func() { e.filter.Worker(worker).Tick() })
				}
			}
			e.Interleave(host.Random(seed<<32|uint64(round)), tasks...)
			for worker, s := range came {
				if s != nil {
					waiting = append(waiting, request{s, e.Monotonic(), worker})
				}
			}
			rest := waiting[:0]
			for _, r := range waiting {
				if passed(r.Stream) == 1 {
					admitted++
					if e.Monotonic() > r.came {
						waited++
					}
					r.Reset()
				}
				if !r.Ended() {
					rest = append(rest, r)
				}
			}
			waiting = rest
			if !assert.LessOrEqual(t, admitted, burst+int((e.Monotonic()-began)/interval), "seed %d, round %d", seed, round) {
				return
			}
			e.Advance(time.Duration(random.IntN(20)) * time.Millisecond)
		}
		assert.Greater(t, waited, 5, "seed %d", seed)
		e.Advance(longest)
		e.tick()
		for _, r := range waiting {
			assert.False(t, r.Paused(), "seed %d", seed)
		}
	}
}

// TestWaitsOfEveryAlgorithm has one request more than a limit has permits: it waits, and
// passes when the limit has one again.
func TestWaitsOfEveryAlgorithm(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"token-bucket", "fixed-window", "sliding-counter", "sliding-log", "leaky-bucket"} {
		t.Run(name, func(t *testing.T) {
			inEachState(t, func(t *testing.T, state string) {
				list := `{"limit":{"rate":"1/1s","algorithm":"` + name + `","wait":"3s"}}`
				e, one := start(t, steps(state, list)), newNative(t, steps(state, `{"limit":{"rate":"1/1s","algorithm":"`+without(name)+`"}}`))
				began := e.Monotonic()
				assert.Equal(t, 200, e.get(0))
				one.begin(began, "")
				s := e.begin(shared(state, 1))
				require.True(t, s.Paused())
				var turn time.Duration
				for o := (outcome{}); !o.passes; {
					turn += waitTick
					_, o = one.begin(began+turn, "")
				}
				e.until(began, turn-waitTick)
				assert.True(t, s.Paused())
				e.until(began, turn)
				assert.NotNil(t, s.Upstream())
			})
		})
	}
}

// without is an algorithm that gives permits at the same marks without a wait.
func without(name string) string {
	if name == "leaky-bucket" {
		return "token-bucket"
	}
	return name
}

// TestWaitsForPlaces has requests wait for a place of a bulkhead that a stream on another
// worker holds.
func TestWaitsForPlaces(t *testing.T) {
	t.Parallel()
	e := start(t, steps("process", `{"bulkhead":{"concurrent":1,"wait":"100ms","queue":1}}`))
	began := e.Monotonic()
	held := e.begin(0)
	waits := e.begin(1)
	assert.True(t, waits.Paused())
	full := e.begin(1)
	assert.Equal(t, 503, statusOf(full))
	assert.Equal(t, "full", reasonOf(full))
	leaves := e.begin(2)
	leaves.Reset()
	e.until(began, 50*time.Millisecond)
	answer(held, 200)
	assert.True(t, waits.Paused(), "until the next tick")
	e.until(began, 55*time.Millisecond)
	require.NotNil(t, waits.Upstream())

	late := e.begin(3)
	e.until(began, 150*time.Millisecond)
	assert.True(t, late.Paused())
	e.until(began, 155*time.Millisecond)
	assert.Equal(t, "wait", reasonOf(late))
	assert.Equal(t, 503, statusOf(late))
	answer(waits, 200)
	assert.Equal(t, 200, e.get(2))
}

// TestWaitsAndDeadWorker loses the requests that wait on a worker that dies, and no permit
// but theirs.
func TestWaitsAndDeadWorker(t *testing.T) {
	t.Parallel()
	e := start(t, steps("process", `{"limit":{"rate":"10/1s","burst":1,"wait":"1s"}}`))
	began := e.Monotonic()
	assert.Equal(t, 200, e.get(0))
	lost, waits := e.begin(1), e.begin(2)
	e.filter.Worker(1).Kill()
	e.until(began, 200*time.Millisecond)
	assert.Nil(t, lost.Upstream())
	assert.NotNil(t, waits.Upstream())
	next := e.begin(3)
	e.until(began, 300*time.Millisecond-1)
	assert.True(t, next.Paused())
	e.until(began, 300*time.Millisecond)
	assert.NotNil(t, next.Upstream())
}
