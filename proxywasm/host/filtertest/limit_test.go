package filtertest

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/sluice-go/sluice/internal/refusals"
	"github.com/sluice-go/sluice/proxywasm/host"
	"github.com/sluice-go/sluice/reducer"
)

// limits are limits of every algorithm that refuses without waiting.
func limits() map[string]string {
	list := map[string]string{"token bucket with a burst": `{"limit":{"rate":"10/1s","burst":3}}`}
	for _, name := range []string{"token-bucket", "fixed-window", "sliding-counter", "sliding-log"} {
		list[name] = `{"limit":{"rate":"5/1s","algorithm":"` + name + `"}}`
		list[name+" by key"] = `{"limit":{"rate":"3/1s","per":"header:x-key","algorithm":"` + name + `"}}`
		list["two "+name] = `{"limit":{"rate":"9/2s","name":"all","algorithm":"` + name + `"}},{"limit":{"rate":"3/1s","name":"one","per":"header:x-key","algorithm":"` + name + `"}}`
	}
	return list
}

// TestLimitsAcrossWorkers has requests on all workers at once, in an order of a seed: the
// requests of one mark get what one limit of the core gives as many requests, and the refused
// ones the same time to come back. A request of two limits is one step at each, so such
// requests come one after another.
func TestLimitsAcrossWorkers(t *testing.T) {
	t.Parallel()
	for name, list := range limits() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(4) {
				interleaved(t, name, list, seed)
			}
		})
	}
}

func interleaved(t *testing.T, name, list string, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	document := steps("process", list)
	e, one := start(t, document), newNative(t, document)
	for round := range 60 {
		e.Advance(time.Duration(random.IntN(400)) * time.Millisecond)
		key := strconv.Itoa(random.IntN(3))
		got, want := map[string]int{}, map[string]int{}
		streams := make([]*host.Stream, workers)
		var tasks []func()
		for _, worker := range random.Perm(workers)[:1+random.IntN(workers)] {
			tasks = append(tasks, func() { streams[worker] = e.filter.Worker(worker).Do(host.Get("/", "x-key", key), host.Answer(200)) })
			h, o := one.begin(e.Monotonic(), key)
			if o.passes {
				one.done(e.Monotonic(), h, reducer.OK)
			}
			want[said(o)]++
		}
		if strings.HasPrefix(name, "two ") {
			// A permit that goes back is missed by a request in the meantime.
			for _, task := range tasks {
				task()
			}
		} else {
			e.Interleave(host.Random(seed<<32|uint64(round)), tasks...)
		}
		for _, s := range streams {
			if s != nil {
				got[fmt.Sprintf("%d %s %s", statusOf(s), reasonOf(s), s.Response().Headers.Value("retry-after"))]++
			}
		}
		if !assert.Equal(t, want, got, "seed %d, round %d", seed, round) {
			return
		}
	}
}

// said is the answer to a request of a policy of limits.
func said(o outcome) string {
	if o.passes {
		return "200  "
	}
	seconds, _ := refusals.ComeBack(reducer.ReasonRate, o.retryAfter)
	return fmt.Sprintf("429 %s %d", o.reason, seconds)
}

// TestLimitInEveryOrder has two workers ask for the last permit of a key in every order of
// their calls of the host, the key's cell made at the same time.
func TestLimitInEveryOrder(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]string{
		"one cell": `{"limit":{"rate":"1/1h"}}`,
		"by key":   `{"limit":{"rate":"1/1h","per":"header:x-key"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := start(t, steps("process", list))
			schedules := 0
			for schedule := range host.AllSchedules() {
				// A permit and a key that no schedule before has had.
				e.Advance(time.Hour)
				key := strconv.Itoa(schedules)
				schedules++
				var got [2]int
				e.Interleave(schedule, func() { got[0] = e.get(0, "x-key", key) }, func() { got[1] = e.get(1, "x-key", key) })
				if got[0]+got[1] != 200+429 {
					t.Errorf("schedule %s: %d", schedule, got)
				}
			}
			assert.Greater(t, schedules, 50)
		})
	}
}

// TestFirstRequests has the first requests of all workers at once, which make the seed,
// the cells and the configuration in shared data.
func TestFirstRequests(t *testing.T) {
	t.Parallel()
	document := steps("process", `{"limit":{"rate":"2/1h","per":"header:x-key"}}`)
	for seed := range uint64(100) {
		p := host.NewProcess(host.Config{Workers: workers})
		f, err := p.Load(plugin(document))
		if !assert.NoError(t, err) {
			return
		}
		counts := map[int]int{}
		var tasks []func()
		for worker := range workers {
			tasks = append(tasks, func() { counts[statusOf(f.Worker(worker).Do(host.Get("/", "x-key", "a"), host.Answer(200)))]++ })
		}
		p.Interleave(host.Random(seed), tasks...)
		assert.Equal(t, map[int]int{200: 2, 429: 2}, counts, "seed %d", seed)
		p.Close()
	}
}

// TestLimitWhileTimePasses lets time pass with each look at the clock: a limit never gives
// more than its burst and its rate allow, and a worker that was stopped between the clock
// and the cell changes nothing.
func TestLimitWhileTimePasses(t *testing.T) {
	t.Parallel()
	const burst, interval = 5, 10 * time.Millisecond
	for seed := range uint64(10) {
		e := start(t, steps("process", `{"limit":{"rate":"100/1s","burst":5}}`))
		e.SetClockStep(time.Millisecond)
		began, admitted := e.Monotonic(), 0
		for round := range 30 {
			var got [workers]int
			var tasks []func()
			for worker := range workers {
				tasks = append(tasks, func() { got[worker] = e.get(worker) })
			}
			e.Interleave(host.Random(seed<<32|uint64(round)), tasks...)
			for _, status := range got {
				if status == 200 {
					admitted++
				}
			}
			assert.LessOrEqual(t, admitted, burst+int((e.Monotonic()-began)/interval), "seed %d, round %d", seed, round)
		}
		bound := burst + int((e.Monotonic()-began)/interval)
		assert.GreaterOrEqual(t, admitted, bound-workers, "seed %d", seed)
	}
}

// TestLimitOfEachWorker has cells of each worker, whatever the others do.
func TestLimitOfEachWorker(t *testing.T) {
	t.Parallel()
	e := start(t, steps("worker", `{"limit":{"rate":"3/1h"}}`))
	got := map[int]int{}
	for i := range 5 * workers {
		got[e.get(i%workers)]++
	}
	assert.Equal(t, map[int]int{200: 3 * workers, 429: 2 * workers}, got)
	assert.Empty(t, e.SharedKeys("sluice"))
}

// TestSlots has more keys than slots: the key used longest ago begins anew, and is counted.
func TestSlots(t *testing.T) {
	t.Parallel()
	slots := func(setting string) string {
		return `{"version":1,"policies":{"all":{"steps":[{"limit":{"rate":"1/1h","per":"header:x-key"` + setting + `}}]}},"routes":[{"path":"/**","policy":"all"}],"proxy":{"slots":8}}`
	}
	e := start(t, slots(""))
	get := func(key int) int { return e.get(key%workers, "x-key", strconv.Itoa(key)) }
	for key := range 8 {
		e.Advance(time.Second)
		assert.Equal(t, []int{200, 429}, []int{get(key), get(key)}, "key %d", key)
	}
	e.Advance(time.Second)
	assert.Equal(t, 429, get(0), "the first use was not the last one")
	e.Advance(2 * time.Second)
	assert.Equal(t, 200, get(8))
	assert.Equal(t, 200, get(1), "its slot was taken")
	e.flush()
	assert.EqualValues(t, 2, e.Counter("sluice.all.limit.evictions"))
	keys := len(e.SharedKeys("sluice"))
	for key := range 200 {
		get(key)
	}
	assert.Len(t, e.SharedKeys("sluice"), keys, "shared data is bounded by the slots")

	e = start(t, slots(`,"when_full":"share"`))
	for key := range 8 {
		assert.Equal(t, 200, get(key))
	}
	assert.Equal(t, []int{200, 429}, []int{get(8), get(9)}, "keys without a slot share a cell")
	e.flush()
	assert.EqualValues(t, 2, e.Counter("sluice.all.limit.shared"))
	assert.Zero(t, e.Counter("sluice.all.limit.evictions"))
}
