package filtertest

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/proxywasm/host"
	"github.com/sluice-go/sluice/reducer"
)

// answers are ways in which a stream ends after it passed, each with the status that the
// client gets.
var answers = map[string]func(s *host.Stream){
	"answer": func(s *host.Stream) { answer(s, 200) },
	"error":  func(s *host.Stream) { answer(s, 500) },
	"in parts": func(s *host.Stream) {
		s.ResponseHeaders(host.Answer(200), host.More)
		s.ResponseBody([]byte("a"), host.More)
		s.ResponseBody([]byte("b"), host.End)
	},
	"trailers": func(s *host.Stream) {
		s.ResponseHeaders(host.Answer(200, "content-type", "application/grpc"), host.More)
		s.ResponseTrailers(host.Headers{{"grpc-status", "14"}})
	},
	"client leaves before the headers": func(s *host.Stream) { s.Reset() },
	"client leaves after the headers": func(s *host.Stream) {
		s.ResponseHeaders(host.Answer(200), host.More)
		s.Reset()
	},
	"client leaves in the body": func(s *host.Stream) {
		s.ResponseHeaders(host.Answer(200), host.More)
		s.ResponseBody([]byte("a"), host.More)
		s.Reset()
	},
	"upstream resets before the headers": func(s *host.Stream) { s.ResetUpstream() },
	"upstream resets after the headers": func(s *host.Stream) {
		s.ResponseHeaders(host.Answer(200), host.More)
		s.ResetUpstream()
	},
}

// TestPlacesComeBack ends streams of a bulkhead in every way: no place is lost and none
// is returned twice.
func TestPlacesComeBack(t *testing.T) {
	t.Parallel()
	for name, end := range answers {
		t.Run(name, func(t *testing.T) {
			inEachState(t, func(t *testing.T, state string) {
				const places = 3
				e := start(t, steps(state, `{"bulkhead":{"concurrent":3}}`))
				for range 3 {
					var streams []*host.Stream
					for i := range places {
						s := e.begin(shared(state, i))
						require.NotNil(t, s.Upstream())
						streams = append(streams, s)
					}
					for i := range workers {
						refused := e.begin(shared(state, i))
						assert.Equal(t, "full", reasonOf(refused))
						refused.Reset()
					}
					for _, s := range streams {
						end(s)
						assert.True(t, s.Ended())
						s.Reset()
					}
				}
			})
		})
	}
}

// shared returns the worker of the ith request: one and the same where each has cells of
// its own.
func shared(state string, i int) int {
	if state == "worker" {
		return 0
	}
	return i % workers
}

// TestPlacesAcrossWorkers begins and ends streams on all workers at once: there are never
// more than places at the upstream, as many as there are requests for them where no other
// step is under way, and in the end none is lost.
func TestPlacesAcrossWorkers(t *testing.T) {
	t.Parallel()
	const places = 3
	for _, list := range []string{`{"bulkhead":{"concurrent":3}}`, `{"limit":{"rate":"1000000/1s"}},{"bulkhead":{"concurrent":3,"per":"header:x-key"}}`} {
		for seed := range uint64(5) {
			random := rand.New(rand.NewPCG(seed, 2))
			e := start(t, steps("process", list))
			running := map[*host.Stream]int{} // by worker
			for round := range 60 {
				e.Advance(time.Millisecond)
				var tasks []func()
				began, free := [workers]*host.Stream{}, places-len(running)
				ended := map[int]*host.Stream{}
				for s, worker := range running {
					ended[worker] = s
				}
				ends := random.IntN(2) == 0
				for worker := range workers {
					switch s := ended[worker]; {
					case ends && s != nil:
						delete(running, s)
						tasks = append(tasks, func() { answer(s, 200) })
					case !ends:
						tasks = append(tasks, func() { began[worker] = e.begin(worker, "x-key", "a") })
					}
				}
				e.Interleave(host.Random(seed<<32|uint64(round)), tasks...)
				passed := 0
				for worker, s := range began {
					if s != nil && s.Upstream() != nil {
						running[s] = worker
						passed++
					}
				}
				if !ends && !assert.Equal(t, min(free, workers), passed, "seed %d, round %d", seed, round) {
					return
				}
			}
		}
	}
}

// TestBeginsAndEndsAtOnce has places change hands while other workers ask for one.
func TestBeginsAndEndsAtOnce(t *testing.T) {
	t.Parallel()
	const places = 2
	e := start(t, steps("process", `{"bulkhead":{"concurrent":2}}`))
	for seed := range uint64(300) {
		held := []*host.Stream{e.begin(0), e.begin(1)}
		var began [2]*host.Stream
		running, most := places, 0
		e.Interleave(host.Random(seed),
			func() { running--; answer(held[0], 200) },
			func() { running--; held[1].Reset() },
			func() { began[0] = e.begin(2); running += passed(began[0]); most = max(most, running) },
			func() { began[1] = e.begin(3); running += passed(began[1]); most = max(most, running) },
		)
		assert.LessOrEqual(t, most, places, "seed %d", seed)
		assert.Equal(t, places-passed(began[0])-passed(began[1]), free(e), "seed %d", seed)
		for _, s := range began {
			s.Reset()
		}
		assert.Equal(t, places, free(e), "seed %d", seed)
	}
}

func passed(s *host.Stream) int {
	if s.Upstream() != nil {
		return 1
	}
	return 0
}

// free returns how many requests pass before one is refused.
func free(e *envoy) (n int) {
	for {
		s := e.begin(n % workers)
		defer s.Reset()
		if passed(s) == 0 {
			return n
		}
		n++
	}
}

// TestPlacesByCost has requests take as many places as a header says, on two workers, and
// give all of them back.
func TestPlacesByCost(t *testing.T) {
	t.Parallel()
	e := start(t, steps("process", `{"bulkhead":{"concurrent":4,"cost":"header:x-size"}}`))
	large := e.begin(0, "x-size", "3")
	assert.Equal(t, 1, passed(large))
	assert.Equal(t, "full", reasonOf(e.begin(1, "x-size", "2")))
	assert.Equal(t, "capacity", reasonOf(e.begin(1, "x-size", "5")))
	small := e.begin(1, "x-size", "0")
	assert.Equal(t, 1, passed(small), "a request takes a place at least")
	assert.Zero(t, free(e))
	answer(large, 200)
	assert.Equal(t, 3, free(e))
	again := e.begin(1, "x-size", "3")
	assert.Equal(t, 1, passed(again))
	again.Reset()
	answer(small, 200)
	assert.Equal(t, 4, free(e))

	e.begin(0, "x-size", "3")
	e.filter.Worker(0).Kill()
	e.Advance(time.Minute)
	assert.Equal(t, 4, free(e), "the lease of a worker is one for all its places")
}

// TestLeases has a worker die with places: they are free again when their lease is over.
func TestLeases(t *testing.T) {
	t.Parallel()
	e := start(t, steps("process", `{"bulkhead":{"concurrent":3,"lease":"10s"}}`))
	e.begin(0)
	e.begin(0)
	kept := e.begin(1)
	e.filter.Worker(0).Kill()
	e.Advance(10*time.Second - 1)
	assert.Zero(t, free(e))
	e.Advance(1)
	assert.Equal(t, 3, free(e), "all three leases are over")
	answer(kept, 200)
	assert.Equal(t, 3, free(e), "a place is not returned twice")
}

// callHeader makes a request one of gRPC.
var callHeader = []string{"content-type", "application/grpc"}

// votes are answers with what a breaker counts of them: a failure, a success or nothing.
var votes = []struct {
	name   string
	end    func(s *host.Stream)
	fails  bool
	good   bool
	header []string // of the request
}{
	{"200", func(s *host.Stream) { answer(s, 200) }, false, true, nil},
	{"500", func(s *host.Stream) { answer(s, 500) }, true, false, nil},
	{"503 of the upstream", func(s *host.Stream) { answer(s, 503) }, true, false, nil},
	{"404", func(s *host.Stream) { answer(s, 404) }, false, false, nil},
	{"429", func(s *host.Stream) { answer(s, 429) }, false, false, nil},
	{"UNAVAILABLE in trailers", func(s *host.Stream) {
		s.ResponseHeaders(host.Answer(200, "content-type", "application/grpc+proto"), host.More)
		s.ResponseBody([]byte("\x00\x00\x00\x00\x00"), host.More)
		s.ResponseTrailers(host.Headers{{"grpc-status", "14"}})
	}, true, false, callHeader},
	{"UNAVAILABLE in headers", func(s *host.Stream) {
		s.ResponseHeaders(host.Answer(200, "content-type", "application/grpc", "grpc-status", "14"), host.End)
	}, true, false, callHeader},
	{"OK in trailers", func(s *host.Stream) {
		s.ResponseHeaders(host.Answer(200, "content-type", "application/grpc"), host.More)
		s.ResponseTrailers(host.Headers{{"grpc-status", "0"}})
	}, false, true, callHeader},
	{"NOT_FOUND in trailers", func(s *host.Stream) {
		s.ResponseHeaders(host.Answer(200, "content-type", "application/grpc"), host.More)
		s.ResponseTrailers(host.Headers{{"grpc-status", "5"}})
	}, false, false, callHeader},
	{"reset before the headers", func(s *host.Stream) { s.ResetUpstream() }, true, false, nil},
	{"client leaves", func(s *host.Stream) { s.Reset() }, false, false, nil},
}

// TestVotes has a breaker count each kind of answer: after one success and one failure, two
// in a row open it only where the answer is one more failure.
func TestVotes(t *testing.T) {
	t.Parallel()
	for _, vote := range votes {
		t.Run(vote.name, func(t *testing.T) {
			inEachState(t, func(t *testing.T, state string) {
				e := start(t, steps(state, `{"breaker":{"window":{"consecutive":3},"open":"1h"}}`))
				i := 0
				next := func(headers ...string) *host.Stream {
					i++
					return e.begin(shared(state, i), headers...)
				}
				vote.end(next(vote.header...))
				answer(next(), 500)
				vote.end(next(vote.header...))
				answer(next(), 500)
				// Failures in a row so far: 4 of failures, 2 of what is not counted, 1 behind a success.
				open := vote.fails
				if !vote.good && !open {
					answer(next(), 500)
					open = true
				}
				s := next()
				assert.Equal(t, open, passed(s) == 0)
				s.Reset()
			})
		})
	}
}

// TestSlow counts answers that take longer than the policy allows.
func TestSlow(t *testing.T) {
	t.Parallel()
	inEachState(t, func(t *testing.T, state string) {
		e := start(t, steps(state, `{"breaker":{"window":{"calls":4},"minimum":4,"slow":{"over":"1s","rate":"50%"},"open":"1h"}}`))
		for i, took := range []time.Duration{time.Second, time.Second + 1, time.Second, 2 * time.Second} {
			s := e.begin(shared(state, i))
			require.NotNil(t, s.Upstream())
			e.Advance(took)
			answer(s, 200)
		}
		assert.Equal(t, "open", reasonOf(e.begin(0)))
	})
}

// TestProbes opens a breaker: when its time is over, no more than its probes pass, on
// whichever workers, and their answers close it or open it again.
func TestProbes(t *testing.T) {
	t.Parallel()
	const probes = 2
	document := steps("process", `{"breaker":{"window":{"consecutive":3},"open":"1s","probes":2}}`)
	for seed := range uint64(60) {
		e, one := start(t, document), newNative(t, document)
		trip := func() {
			for i := range 3 {
				s := e.begin(i)
				require.NotNil(t, s.Upstream(), "seed %d", seed)
				answer(s, 500)
				h, _ := one.begin(e.Monotonic(), "")
				one.done(e.Monotonic(), h, reducer.Fail)
			}
		}
		trip()
		s := e.begin(3)
		assert.Equal(t, "open", reasonOf(s))
		assert.Equal(t, "1", s.Response().Headers.Value("retry-after"))
		for round := range 3 {
			e.Advance(time.Second)
			var streams [workers]*host.Stream
			var tasks []func()
			for worker := range workers {
				tasks = append(tasks, func() { streams[worker] = e.begin(worker) })
			}
			e.Interleave(host.Random(seed<<8|uint64(round)), tasks...)
			var out []*host.Stream
			for _, s := range streams {
				if passed(s) == 1 {
					out = append(out, s)
				} else {
					assert.Equal(t, "probes", reasonOf(s))
				}
			}
			require.Len(t, out, probes, "seed %d", seed)
			// One of the probes fails in two rounds of three, which opens the breaker again.
			statuses := []int{200, 500}
			if round == 2 {
				statuses = []int{200, 200}
			}
			handles := nativeProbes(one, e.Monotonic())
			require.Len(t, handles, probes)
			var ends []func()
			for i, s := range out {
				ends = append(ends, func() { answer(s, statuses[i]) })
				o := reducer.OK
				if statuses[i] == 500 {
					o = reducer.Fail
				}
				one.done(e.Monotonic(), handles[i], o)
			}
			e.Interleave(host.Random(seed<<8|uint64(round)|128), ends...)
			_, want := one.begin(e.Monotonic(), "")
			after := e.begin(round)
			assert.Equal(t, want.passes, passed(after) == 1, "seed %d, round %d", seed, round)
			assert.Equal(t, want.reason, reasonOf(after), "seed %d, round %d", seed, round)
			after.Reset()
		}
	}
}

// nativeProbes begins requests until one is refused.
func nativeProbes(one *native, now time.Duration) (list []decision.Handle) {
	for {
		h, o := one.begin(now, "")
		if !o.passes {
			return list
		}
		list = append(list, h)
	}
}

// TestProbesThatLeave has clients of probes leave: another probe follows.
func TestProbesThatLeave(t *testing.T) {
	t.Parallel()
	inEachState(t, func(t *testing.T, state string) {
		e := start(t, steps(state, `{"breaker":{"window":{"consecutive":1},"open":"1s","probes":1}}`))
		answer(e.begin(0), 500)
		e.Advance(time.Second)
		for i := range 5 {
			s := e.begin(shared(state, i))
			require.NotNil(t, s.Upstream(), "probe %d", i)
			assert.Equal(t, "probes", reasonOf(e.begin(shared(state, i+1))))
			s.Reset()
		}
		answer(e.begin(0), 200)
		assert.Equal(t, 200, e.get(shared(state, 1)), "the breaker is closed")
	})
}

// TestProbesOfDeadWorker has a worker die with a probe: its place is free after the open
// time.
func TestProbesOfDeadWorker(t *testing.T) {
	t.Parallel()
	e := start(t, steps("process", `{"breaker":{"window":{"consecutive":1},"open":"1s","probes":1}}`))
	answer(e.begin(0), 500)
	e.Advance(time.Second)
	require.NotNil(t, e.begin(1).Upstream())
	e.filter.Worker(1).Kill()
	e.Advance(time.Second - 1)
	assert.Equal(t, "probes", reasonOf(e.begin(2)))
	e.Advance(1)
	answer(e.begin(2), 200)
	assert.Equal(t, 200, e.get(3), "the breaker is closed")
}

// TestKeyedBreaker keeps the failures of one key from the others.
func TestKeyedBreaker(t *testing.T) {
	t.Parallel()
	inEachState(t, func(t *testing.T, state string) {
		e := start(t, steps(state, `{"breaker":{"window":{"consecutive":2},"open":"1h","probes":5,"per":"header:x-key"}}`))
		for i := range 40 {
			key := strconv.Itoa(i % 4)
			s := e.begin(shared(state, i), "x-key", key)
			if i%4 == 2 && i >= 8 {
				assert.Equal(t, "open", reasonOf(s), "request %d", i)
				continue
			}
			status := 200
			if i%4 == 2 {
				status = 500
			}
			answer(s, status)
		}
	})
}
