package host_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/sluice-go/sluice/proxywasm/host"
)

// count runs one request on each of n workers at once and returns what they
// counted in shared data.
func count(t *testing.T, schedule *host.Schedule, n int, operation string) uint64 {
	t.Helper()
	p, f := start(t, host.Config{Workers: n}, "request_headers: "+operation+" key")
	defer p.Close()
	var tasks []func()
	for worker := range n {
		tasks = append(tasks, func() { f.Worker(worker).Do(host.Get("/"), host.Answer(200)) })
	}
	p.Interleave(schedule, tasks...)
	value, _, _ := p.SharedData("", "key")
	return binary.LittleEndian.Uint64(value)
}

// A compare-and-set loses no update in any order, a blind set loses one in some.
func TestInterleaveFindsLostUpdates(t *testing.T) {
	t.Parallel()
	schedules, lost := 0, map[string]uint64{}
	for schedule := range host.AllSchedules() {
		schedules++
		got := count(t, schedule, 2, "countblind")
		if got != 2 {
			lost[schedule.String()] = got
		}
	}
	// Two host calls of each of two tasks can be in 6 orders, which 2 and 4 of the
	// choices give; what runs before the first of them is one more.
	assert.Greater(t, schedules, 5)
	assert.NotEmpty(t, lost)
	assert.Less(t, len(lost), schedules)
	for schedule := range host.AllSchedules() {
		assert.EqualValues(t, 2, count(t, schedule, 2, "count"), schedule)
	}
}

func TestInterleaveRepeats(t *testing.T) {
	t.Parallel()
	results := map[uint64]int{}
	for seed := range uint64(30) {
		first := host.Random(seed)
		got := count(t, first, 4, "countblind")
		results[got]++
		assert.Equal(t, got, count(t, host.Random(seed), 4, "countblind"), "seed %d", seed)
		assert.EqualValues(t, 4, count(t, host.Random(seed), 4, "count"), "seed %d", seed)
	}
	assert.Greater(t, len(results), 1, "all seeds gave one result")
	assert.EqualValues(t, 1, count(t, host.Choices(0, 1, 0, 1), 2, "countblind"), "both read before one writes")
	assert.EqualValues(t, 2, count(t, host.Choices(), 2, "countblind"), "one after the other")
	schedule := host.Choices(0, 1, 0, 1)
	count(t, schedule, 2, "countblind")
	assert.Equal(t, "0, 1, 0, 1, 0", schedule.String(), "for Choices")
}

// Time can pass between the reads of two workers.
func TestInterleaveClock(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{Workers: 2}, "request_headers: clock 1; clock 1")
	p.SetClockStep(time.Nanosecond)
	began := p.Monotonic()
	p.Interleave(host.Choices(0, 1, 1, 0), func() { f.Worker(0).Do(host.Get("/"), host.Answer(200)) },
		func() { f.Worker(1).Do(host.Get("/"), host.Answer(200)) })
	assert.Equal(t, began+4, p.Monotonic())
}

func TestInterleaveMistakes(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{Workers: 2}, "request_headers: get key; get key")
	request := func() { f.Worker(0).Do(host.Get("/"), host.Answer(200)) }
	p.Interleave(host.Random(1))
	assert.PanicsWithError(t, "host: two tasks of an interleaving use one VM of worker 0", func() {
		p.Interleave(host.Choices(0, 1), request, request)
	})
	assert.PanicsWithValue(t, "mine", func() {
		p.Interleave(host.Random(1), func() { panic("mine") }, request)
	})
	assert.PanicsWithError(t, "host: an Interleave within an Interleave", func() {
		p.Interleave(host.Random(1), func() { p.Interleave(host.Random(2), request) })
	})
	said(p)
	request()
	assert.Equal(t, "get key = 1  / get key = 1 ", said(p), "the process goes on")
	assert.PanicsWithError(t, "host: the body of AllSchedules does not repeat itself", func() {
		n := 0
		for schedule := range host.AllSchedules() {
			n++
			p.Interleave(schedule, []func(){func() {}, func() {}, func() {}, func() {}}[:1+n]...)
		}
	})
}
