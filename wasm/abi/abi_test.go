package abi

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/planwire"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

// TestLayout compares the structs with the tables of ABI.md.
func TestLayout(t *testing.T) {
	page, err := os.ReadFile("../ABI.md")
	require.NoError(t, err)
	_, slots, _ := strings.Cut(string(page), "\n## Slots\n")
	slots, _, _ = strings.Cut(slots, "\n## ")
	documented := map[string]uintptr{}
	for _, row := range regexp.MustCompile("(?m)^\\| (\\d+) \\| [^|]* \\| `(\\w+)` \\|").FindAllStringSubmatch(slots, -1) {
		n, err := strconv.Atoi(row[1])
		require.NoError(t, err)
		documented[row[2]] = uintptr(n)
	}
	var s Slots
	assert.Equal(t, map[string]uintptr{
		"exact": unsafe.Offsetof(s.Exact), "size": unsafe.Offsetof(s.Size), "count": unsafe.Offsetof(s.Count), "free": unsafe.Offsetof(s.Free),
		"records": unsafe.Offsetof(s.Records), "buffer": unsafe.Offsetof(s.Buffer), "now": unsafe.Offsetof(s.Now),
		"span": unsafe.Offsetof(s.Span), "wake": unsafe.Offsetof(s.Wake), "wake_millis": unsafe.Offsetof(s.WakeMillis),
		"slot": unsafe.Offsetof(s.Slot), "generation": unsafe.Offsetof(s.Generation), "reason": unsafe.Offsetof(s.Reason),
		"timeless": unsafe.Offsetof(s.Timeless), "millis": unsafe.Offsetof(s.Millis), "permit": unsafe.Offsetof(s.Permit),
		"mode": unsafe.Offsetof(s.Mode), "attempt": unsafe.Offsetof(s.Attempt), "before": unsafe.Offsetof(s.Before), "began": unsafe.Offsetof(s.Began),
		"keys": unsafe.Offsetof(s.Keys), "step": unsafe.Offsetof(s.Step),
		"priced": unsafe.Offsetof(s.Priced), "costs": unsafe.Offsetof(s.Costs), "spent": unsafe.Offsetof(s.Spent), "used": unsafe.Offsetof(s.Used), "applies": unsafe.Offsetof(s.Applies), "decides": unsafe.Offsetof(s.Decides),
	}, documented)
	var d Decision
	assert.Equal(t, []uintptr{0, 8, 16, 24, 28, 32, 36, 40, 41, 42, 43, 44, 48}, []uintptr{
		unsafe.Offsetof(d.At), unsafe.Offsetof(d.Value), unsafe.Offsetof(d.Millis), unsafe.Offsetof(d.Slot), unsafe.Offsetof(d.Generation),
		unsafe.Offsetof(d.Attempt), unsafe.Offsetof(d.Event), unsafe.Offsetof(d.Kind), unsafe.Offsetof(d.Outcome), unsafe.Offsetof(d.Reason),
		unsafe.Offsetof(d.Step), unsafe.Offsetof(d.Flags), unsafe.Sizeof(d),
	})
	var o Other
	assert.Equal(t, []uintptr{0, 24, 28, 29, 32}, []uintptr{
		unsafe.Offsetof(o.Permit), unsafe.Offsetof(o.Caller), unsafe.Offsetof(o.Kind), unsafe.Offsetof(o.Reason), unsafe.Sizeof(o),
	})
}

// TestTime: milliseconds are truncated, saturate, and come back.
func TestTime(t *testing.T) {
	var m Module
	for _, c := range []struct {
		millis float64
		want   clock.Mark
	}{
		{0, 0}, {1, 1e6}, {1.5, 1_500_000}, {0.0000019, 1}, {-0.0000019, -1}, {-3, -3e6},
		{1e300, clock.Never - 1}, {math.Inf(1), clock.Never - 1}, {-1e300, clock.Always + 1}, {math.Inf(-1), clock.Always + 1},
		{math.NaN(), 77},
	} {
		assert.Equal(t, c.want, m.mark(c.millis, 77), c.millis)
	}
	m.Slots.Exact, m.Slots.Now, m.Slots.Span = ExactNow|ExactSpan, 12345, -9
	assert.Equal(t, clock.Mark(5e6), m.mark(5, 0), "a number wins")
	assert.Equal(t, clock.Mark(12345), m.mark(math.NaN(), 0))
	assert.Equal(t, clock.Mark(8), m.mark(math.NaN(), 8), "once")
	span, ok := m.span(math.NaN())
	assert.True(t, ok)
	assert.Equal(t, time.Duration(-9), span)
	_, ok = m.span(math.NaN())
	assert.False(t, ok)

	const seed = 5
	r := rand.New(rand.NewPCG(seed, 0))
	for range 100_000 {
		n := int64(r.Uint64() >> (1 + r.IntN(62)))
		back := whole(millisOf(n))
		if back < n || float64(back-n) > float64(n)/(1<<51)+1 {
			t.Fatalf("seed %d: %d ns are %v ms, which are %d ns", seed, n, millisOf(n), back)
		}
	}
}

// TestHandles: a handle names its object until it is freed, and nothing else
// afterwards, however often its place is used.
func TestHandles(t *testing.T) {
	var m Module
	seen, named := map[int32]bool{}, &maker{}
	for range 3 * generations {
		h := m.put(object{maker: named})
		assert.Positive(t, h)
		assert.False(t, seen[h], "a handle is used again")
		seen[h] = true
		assert.Same(t, named, m.get(uint32(h)).maker)
		assert.Equal(t, int32(0), m.Free(uint32(h)))
		assert.Nil(t, m.get(uint32(h)).maker)
		assert.Equal(t, BadHandle, m.Free(uint32(h)))
	}
	assert.Len(t, m.objects, 3, "a place is used again until its generations are used up")
	for _, h := range []uint32{0, 1, 2, 1023, 1024, math.MaxUint32} {
		assert.Nil(t, m.get(h).cell)
		assert.Equal(t, BadHandle, m.Acquire(h, 1, 0, 0))
		assert.Equal(t, "no such object, or one of another kind", text(&m))
	}
}

func text(m *Module) string { return string(m.Buffer[:m.Slots.Size]) }

func write(t *testing.T, m *Module, src string) uint32 {
	t.Helper()
	require.Equal(t, int32(0), m.Reserve(uint32(len(src))))
	return uint32(copy(m.Buffer, src))
}

// TestBuffer: room is bounded, and what is in the buffer stays.
func TestBuffer(t *testing.T) {
	var m Module
	write(t, &m, "kept")
	assert.Equal(t, int32(0), m.Reserve(1<<20))
	assert.Equal(t, "kept", string(m.Buffer[:4]))
	assert.Equal(t, BadSize, m.Reserve(MaxBuffer+1))
	assert.Equal(t, BadSize, m.Body(math.MaxUint32))
	assert.Equal(t, BadSize, m.Plan(4, 5))
}

// values writes settings to the buffer as a step of a plan has them, and returns their size.
func values[C any](t *testing.T, m *Module, c C, plan func(*C, *planwire.Coder)) uint32 {
	t.Helper()
	v := planwire.Writer(nil)
	plan(&c, &v)
	return write(t, m, string(v.Bytes()))
}

func limiterOf(t *testing.T, m *Module, c limiter.Config) uint32 {
	t.Helper()
	maker := m.Limiter(values(t, m, c, limiter.Plan))
	require.Positive(t, maker, text(m))
	cell := m.Cell(uint32(maker), 0)
	require.Positive(t, cell)
	require.Equal(t, int32(0), m.Free(uint32(maker)), "a maker may be freed")
	return uint32(cell)
}

// TestLimiter follows two callers through a limiter with a queue.
func TestLimiter(t *testing.T) {
	var m Module
	s := &m.Slots
	cell := limiterOf(t, &m, limiter.Config{Count: 1, Period: time.Second, Wait: 1500 * time.Millisecond, Queue: 1})
	assert.Equal(t, int32(reducer.Admit), m.Acquire(cell, 1, 7, 0))
	assert.Equal(t, int32(reducer.Wait), m.Acquire(cell, 1, 8, 200))
	assert.InDelta(t, 800.0, s.Millis, 0, "the turn")
	assert.InDelta(t, 1000.0, s.WakeMillis, 0)
	assert.Equal(t, int32(reducer.Reject), m.Acquire(cell, 1, 9, 200))
	assert.Equal(t, uint32(reducer.ReasonFull), s.Reason)
	assert.Equal(t, int32(reducer.Done), m.Pass(cell, 999))
	assert.Equal(t, uint32(0), s.Count)
	assert.Equal(t, int32(reducer.Done), m.Pass(cell, s.WakeMillis))
	require.Equal(t, uint32(1), s.Count)
	assert.Equal(t, uint32(8), m.Others[0].Caller)
	assert.Equal(t, uint8(reducer.Grant), m.Others[0].Kind)
	assert.True(t, math.IsInf(s.WakeMillis, 1))
	assert.Equal(t, clock.Never, s.Wake)
	assert.Equal(t, int32(0), m.Fresh(cell, math.NaN()))
	m.Step(cell, uint32(reducer.Peek), 0, 1, 3000)
	assert.Equal(t, uint32(1), s.Free)
	assert.Equal(t, int32(1), m.Fresh(cell, 10_000))
}

// TestLimiterMore: the maps of a limiter are in its settings.
func TestLimiterMore(t *testing.T) {
	var m Module
	s := &m.Slots
	rate := limiter.Config{Count: 1, Period: time.Second}
	block := rate
	block.Block = limiter.Block{After: 1, For: backoff.Config{Kind: backoff.Exponential, Base: time.Minute, Factor: 2_000_000, Max: 90 * time.Second}}
	blocked := limiterOf(t, &m, block)
	for _, want := range []struct{ at, after float64 }{{0, 60_000}, {60_000, 90_000}, {150_000, 90_000}} {
		assert.Equal(t, int32(reducer.Admit), m.Acquire(blocked, 1, 0, want.at))
		assert.Equal(t, int32(reducer.Reject), m.Acquire(blocked, 1, 0, want.at))
		assert.Equal(t, uint32(reducer.ReasonRate), s.Reason)
		assert.InDelta(t, want.after, s.Millis, 0)
		assert.Equal(t, int32(reducer.Reject), m.Acquire(blocked, 1, 0, want.at+1))
		assert.Equal(t, uint32(reducer.ReasonBlocked), s.Reason)
	}
	both := rate
	both.Block = limiter.Block{After: 1, For: backoff.Config{Kind: backoff.Listed, Delays: backoff.Delays(time.Second, 3*time.Second)}}
	both.WarmUp = limiter.WarmUp{Over: 9 * time.Second, Factor: 3}
	warm := both
	warm.Block = limiter.Block{}
	for name, c := range map[string]limiter.Config{"warm": warm, "the turn is later than the end of the block": both} {
		cell := limiterOf(t, &m, c)
		require.Equal(t, int32(reducer.Admit), m.Acquire(cell, 1, 0, 0))
		require.Equal(t, int32(reducer.Reject), m.Acquire(cell, 1, 0, 0))
		assert.InDelta(t, 2373.863543, s.Millis, 1e-6, name)
	}
}

// TestLimiterCost: the cost that a step would take is none of a limiter alone.
func TestLimiterCost(t *testing.T) {
	var m Module
	c := limiter.Config{Count: 5, Period: time.Second, Cost: limiter.Cost{Attribute: "header:x-tokens", Permits: 4}, Charge: limiter.ChargeSettle, SettleMax: 3, Counts: 1}
	cell := limiterOf(t, &m, c)
	assert.Equal(t, int32(reducer.Admit), m.Acquire(cell, 5, 0, 0))
	assert.Equal(t, int32(reducer.Reject), m.Acquire(cell, 1, 0, 0))
}

// TestSettings: what is wrong with settings is said by its name, and bytes that are none
// are refused.
func TestSettings(t *testing.T) {
	var m Module
	rate := limiter.Config{Count: 1, Period: time.Second}
	refused := func(code, want int32, name string) {
		t.Helper()
		assert.Equal(t, want, code, name)
		assert.Contains(t, text(&m), name)
	}
	refused(m.Limiter(values(t, &m, limiter.Config{Period: time.Second}, limiter.Plan)), BadPolicy, "rate")
	refused(m.Limiter(values(t, &m, limiter.Config{Algorithm: 9, Count: 1, Period: time.Second}, limiter.Plan)), BadPolicy, "algorithm")
	refused(m.Bulkhead(values(t, &m, bulkhead.Config{}, bulkhead.Plan)), BadPolicy, "concurrent")
	refused(m.Breaker(values(t, &m, breaker.Config{Count: 10, Minimum: 5, FailureRate: reducer.Percent(50), Open: backoff.Config{Kind: backoff.Constant, Base: 5}}, breaker.Plan)), BadPolicy, "probes")
	refused(m.Retry(values(t, &m, retry.Config{}, retry.Plan)), BadPolicy, "attempts")
	refused(m.Limiter(math.MaxUint32), BadSize, "buffer")
	refused(m.Retry(math.MaxUint32), BadSize, "buffer")
	size := values(t, &m, rate, limiter.Plan)
	src := string(m.Buffer[:size])
	for n := range src {
		refused(m.Limiter(write(t, &m, src[:n])), BadBytes, "cut off")
	}
	refused(m.Limiter(write(t, &m, src+"\x00")), BadBytes, "end")
	assert.Equal(t, uint32(math.MaxUint32), m.Slots.Step)
}

// TestRetrySettings: the retry of plan bytes is the retry that retry.Plan reads there.
// Every byte of some settings is changed in turn, and bytes are cut off and added.
func TestRetrySettings(t *testing.T) {
	var m Module
	budgeted := retry.Config{Attempts: 3, Budgeted: true, Budget: budget.Config{Ratio: reducer.Percent(20), MinimumCount: 1, MinimumPeriod: 1, Window: 1}}
	waits := retry.Config{Attempts: 3, Refusals: retry.WaitRefused}
	made := 0
	for _, c := range []retry.Config{
		{Attempts: 1},
		{Attempts: 3, MaxElapsed: time.Hour, Backoff: backoff.Config{Kind: backoff.Exponential, Base: time.Second, Factor: 1_500_000, Max: time.Minute, Jitter: backoff.Fraction, Share: reducer.Percent(20)}},
		{Attempts: 1000, Backoff: backoff.Config{Kind: backoff.Listed, Delays: backoff.Delays(0, time.Second, 1<<63-1), Jitter: backoff.Full}},
		budgeted, waits,
	} {
		v := planwire.Writer(nil)
		retry.Plan(&c, &v)
		src := v.Bytes()
		sources := [][]byte{src, append(bytes.Clone(src), 0)}
		for i := range src {
			sources = append(sources, src[:i])
			for b := range 256 {
				changed := bytes.Clone(src)
				changed[i] = byte(b)
				sources = append(sources, changed)
			}
		}
		for _, src := range sources {
			r := planwire.Reader(src)
			var read retry.Config
			retry.Plan(&read, &r)
			whole := r.Close()
			again := planwire.Writer(nil)
			retry.Plan(&read, &again)
			want, err := retry.New(read)
			alone := whole && bytes.Equal(again.Bytes(), src) && err == nil && !read.Budgeted && read.Refusals == retry.EndRefused
			handle := m.Retry(write(t, &m, string(src)))
			require.Equal(t, alone, handle > 0, "%x: %s", src, text(&m))
			if alone {
				made++
				require.Equal(t, want, m.get(uint32(handle)).retry, "%x", src)
				require.Zero(t, m.Free(uint32(handle)))
			}
		}
	}
	assert.Greater(t, made, 500)
}

// TestTimelessAcquire: where the slots say so, a breaker by time decides the same
// without the marks of its acquires.
func TestTimelessAcquire(t *testing.T) {
	var m Module
	s := &m.Slots
	maker := uint32(m.Breaker(values(t, &m, breaker.Config{
		Window: breaker.Time, Count: 4, Span: time.Second, Minimum: 4, FailureRate: reducer.Percent(70), Probes: 1,
		Open: backoff.Config{Kind: backoff.Constant, Base: 5 * time.Second},
	}, breaker.Plan)))
	timed, timeless := uint32(m.Cell(maker, 0)), uint32(m.Cell(maker, 0))
	state := func(cell uint32) []byte {
		size := m.State(cell)
		require.Positive(t, size)
		return slices.Clone(m.Buffer[:size])
	}
	call := func(cell uint32, began, ended float64, outcome reducer.Outcome) int32 {
		verdict := m.Acquire(cell, 1, 0, began)
		if verdict == int32(reducer.Admit) {
			m.Step(cell, uint32(reducer.Record), uint32(outcome), 1, ended)
		}
		return verdict
	}
	outcomes := []reducer.Outcome{reducer.OK, reducer.OK, reducer.Fail, reducer.OK, reducer.Ignore, reducer.Fail}
	admitted := 0
	for i := range 200 {
		began := 90 * float64(i)
		outcome := outcomes[i%len(outcomes)]
		if i > 100 {
			outcome = reducer.Fail
		}
		want := call(timed, began, began+50, outcome)
		m.Step(timeless, uint32(reducer.Tick), 0, 0, math.NaN())
		if s.Timeless == TimelessAcquire {
			began, admitted = math.NaN(), admitted+1
		}
		require.Equal(t, want, call(timeless, began, 90*float64(i)+50, outcome), i)
		require.Equal(t, state(timed), state(timeless), i)
	}
	assert.Greater(t, admitted, 90)
	assert.Equal(t, uint32(breaker.Open), s.Mode)
}

// TestBreaker: the slots say in which mode a breaker is, and whether it needs
// the time.
func TestBreaker(t *testing.T) {
	var m Module
	s := &m.Slots
	maker := m.Breaker(values(t, &m, breaker.Config{
		Window: breaker.Consecutive, Count: 2, Probes: 1, Open: backoff.Config{Kind: backoff.Constant, Base: 5 * time.Second},
	}, breaker.Plan))
	require.Positive(t, maker, text(&m))
	cell := uint32(m.Cell(uint32(maker), 0))
	require.Equal(t, int32(reducer.Admit), m.Acquire(cell, 1, 0, 0))
	m.Step(cell, uint32(reducer.Record), uint32(reducer.Fail), 1, 100)
	assert.Equal(t, uint32(1), s.Timeless)
	require.Equal(t, int32(reducer.Admit), m.Acquire(cell, 1, 0, math.NaN()))
	m.Step(cell, uint32(reducer.Record), uint32(reducer.Fail), 1, 300)
	assert.Equal(t, uint32(1), s.Mode, "open")
	assert.Equal(t, uint32(0), s.Timeless)
	require.Equal(t, uint32(1), s.Count)
	assert.Equal(t, uint8(reducer.Change), m.Others[0].Kind)
	assert.Equal(t, int32(reducer.Reject), m.Acquire(cell, 1, 0, 1300))
	assert.InDelta(t, 4000.0, s.Millis, 0)
	assert.Equal(t, int32(reducer.Done), m.Pass(cell, 5300))
	assert.Equal(t, uint32(2), s.Mode, "half-open")
	assert.Equal(t, BadArgument, m.Step(cell, 256, 0, 0, 0))
}

// TestStates: a state goes from a cell to another one, as it is or moved.
func TestStates(t *testing.T) {
	var m Module
	rate := limiter.Config{Count: 2, Period: time.Second, Burst: 2}
	one, two := limiterOf(t, &m, rate), limiterOf(t, &m, rate)
	m.Acquire(one, 2, 0, 100)
	size := m.State(one)
	require.Positive(t, size)
	state := append([]byte(nil), m.Buffer[:size]...)
	assert.Equal(t, int32(reducer.Done), m.Restore(two, uint32(size), math.NaN(), 100))
	assert.Equal(t, int32(reducer.Reject), m.Acquire(two, 1, 0, 100))
	write(t, &m, string(state))
	assert.Equal(t, int32(reducer.Done), m.Restore(two, uint32(size), 5000, 100))
	assert.Equal(t, int32(reducer.Reject), m.Acquire(two, 1, 0, 5300))
	assert.InDelta(t, 300.0, m.Slots.Millis, 0)
	for n := range state {
		write(t, &m, string(state[:n]))
		assert.Equal(t, BadBytes, m.Restore(two, uint32(n), math.NaN(), 5300))
	}
	assert.Equal(t, int32(reducer.Reject), m.Acquire(two, 1, 0, 5300), "a failed restore changes nothing")
	for n := range 40 {
		assert.Negative(t, m.Reduce(two, uint32(n)))
	}
}

// TestAdopt: a raised rate takes effect at once, the permits are kept.
func TestAdopt(t *testing.T) {
	var m Module
	cell := limiterOf(t, &m, limiter.Config{Count: 1, Period: time.Second, Burst: 1})
	require.Equal(t, int32(reducer.Admit), m.Acquire(cell, 1, 0, 0))
	maker := m.Limiter(values(t, &m, limiter.Config{Count: 10, Period: time.Second, Burst: 10}, limiter.Plan))
	assert.Equal(t, int32(reducer.Done), m.Adopt(cell, uint32(maker), 0))
	assert.Equal(t, int32(reducer.Reject), m.Acquire(cell, 1, 0, 0))
	assert.InDelta(t, 100.0, m.Slots.Millis, 0)
	assert.Equal(t, BadHandle, m.Adopt(uint32(maker), uint32(maker), 0))
	assert.Equal(t, BadHandle, m.Adopt(cell, cell, 0))
}

// TestRetry: the state of a call goes through the slots.
func TestRetry(t *testing.T) {
	var m Module
	s := &m.Slots
	three := retry.Config{Attempts: 3, Backoff: backoff.Config{Kind: backoff.Exponential, Base: 100 * time.Millisecond, Factor: 2_000_000}}
	retries := uint32(m.Retry(values(t, &m, three, retry.Plan)))
	nan := math.NaN()
	s.Attempt, s.Before = 1, 0
	assert.Equal(t, int32(1), m.Next(retries, uint32(reducer.Fail), nan, nan, 0, 0, 0))
	assert.InDelta(t, 100.0, s.Millis, 0)
	s.Attempt = 2
	assert.Equal(t, int32(1), m.Next(retries, uint32(reducer.Fail), 700, nan, 0, 0, 0))
	assert.InDelta(t, 700.0, s.Millis, 0, "a retry-after is a floor")
	assert.Equal(t, int32(0), m.Next(retries, uint32(reducer.Fail), nan, 150, 0, 0, 0))
	assert.Equal(t, uint32(reducer.ReasonDeadline), s.Reason)
	assert.Equal(t, int32(0), m.Next(retries, uint32(reducer.Fail), -1, nan, 0, 0, 0))
	assert.Equal(t, uint32(reducer.ReasonPushback), s.Reason)
	s.Attempt = 3
	assert.Equal(t, int32(0), m.Next(retries, uint32(reducer.Fail), nan, nan, 0, 0, 0))
	assert.Equal(t, uint32(reducer.ReasonAttempts), s.Reason)
	assert.Equal(t, int32(0), m.Next(retries, uint32(reducer.OK), nan, nan, 0, 0, 0))
	assert.Equal(t, BadArgument, m.Next(retries, 999, nan, nan, 0, 0, 0))

	nine := retry.Config{Attempts: 9, MaxElapsed: 6 * time.Second, Backoff: backoff.Config{Kind: backoff.Listed, Delays: backoff.Delays(0, 2*time.Second)}}
	listed := uint32(m.Retry(values(t, &m, nine, retry.Plan)))
	s.Attempt, s.Before, s.Began = 1, 0, 1000
	assert.Equal(t, int32(1), m.Next(listed, uint32(reducer.Fail), nan, nan, 3000, 0, 0))
	assert.InDelta(t, 0.0, s.Millis, 0)
	s.Attempt = 2
	assert.Equal(t, int32(1), m.Next(listed, uint32(reducer.Fail), nan, nan, 3000, 0, 0))
	assert.InDelta(t, 2000.0, s.Millis, 0)
	assert.Equal(t, int32(0), m.Next(listed, uint32(reducer.Fail), nan, nan, 5000, 0, 0))
	assert.Equal(t, uint32(reducer.ReasonElapsed), s.Reason)
	assert.Equal(t, BadBytes, m.Retry(write(t, &m, "\x09\x06\x11")), "more delays than there may be")
}

const policy = `{"steps":[{"retry":{"attempts":2,"backoff":{"constant":"1s"},"jitter":"none"}},{"limit":{"rate":"2/1s","per":"key"}},{"timeout":"500ms"}]}`

func pipelineOf(t *testing.T, m *Module) uint32 {
	t.Helper()
	plan := m.Body(write(t, m, policy))
	require.Positive(t, plan, text(m))
	p := m.Pipeline(uint32(plan), 0, 0)
	require.Positive(t, p)
	return uint32(p)
}

// TestPipeline follows one call through a timeout, a retry and its end.
func TestPipeline(t *testing.T) {
	var m Module
	s := &m.Slots
	p := pipelineOf(t, &m)
	nan := math.NaN()
	s.Keys[1] = 5
	require.Equal(t, int32(1), m.Begin(p, 1, 0, nan, 0))
	slot, generation := s.Slot, s.Generation
	assert.Equal(t, uint8(decision.Admit), m.Decisions[0].Kind)
	assert.InDelta(t, 500.0, s.WakeMillis, 0)
	assert.Equal(t, int32(1), m.Uses(p, 5))
	require.Equal(t, int32(2), m.Advance(p, 500))
	assert.Equal(t, uint8(2), m.Decisions[0].Step)
	assert.Equal(t, []uint8{uint8(decision.Timeout), uint8(decision.Retry)}, []uint8{m.Decisions[0].Kind, m.Decisions[1].Kind})
	assert.InDelta(t, 1500.0, m.Decisions[1].Millis, 0)
	assert.Equal(t, Stale, m.Done(p, slot, generation, 0, uint32(reducer.OK), nan, 600), "it is not running")
	require.Equal(t, int32(1), m.Advance(p, 1500))
	require.Equal(t, int32(1), m.Done(p, slot, generation, 0, uint32(reducer.OK), nan, 1600))
	assert.Equal(t, uint8(Last), m.Decisions[0].Flags)
	assert.Equal(t, Stale, m.Cancel(p, slot, generation, 1700))
	assert.Equal(t, Stale, m.Renew(p, slot, generation, 0, 1700))
	assert.Equal(t, BadArgument, m.Done(p, slot, generation, 0, 5, nan, 1700))
	assert.Equal(t, BadArgument, m.Begin(p, 1, 0, -1, 1700))
	s.Keys[1] = MaxKey + 1
	assert.Equal(t, BadArgument, m.Begin(p, 1, 0, nan, 1700))
	s.Keys[1] = 0
	require.Equal(t, int32(3), m.Begin(p, 1, 0, 0, 1700), "a deadline that is over at once")
	assert.Equal(t, []uint8{NoStep, Deadline, NoStep}, []uint8{m.Decisions[0].Step, m.Decisions[1].Step, m.Decisions[2].Step})
}

// TestHedge follows a call of two attempts, and one that may not have a second.
func TestHedge(t *testing.T) {
	var m Module
	s := &m.Slots
	plan := m.Body(write(t, &m, `{"steps":[{"hedge":{"after":"100ms"}},{"bulkhead":{"concurrent":3,"lease":"1s"}}]}`))
	require.Positive(t, plan, text(&m))
	p, nan := uint32(m.Pipeline(uint32(plan), 0, 0)), math.NaN()
	require.Equal(t, int32(1), m.Begin(p, 1, 0, nan, 0))
	slot, generation := s.Slot, s.Generation
	assert.InDelta(t, 100.0, s.WakeMillis, 0)
	require.Equal(t, int32(2), m.Advance(p, 100))
	kinds := func() (all []decision.Kind) {
		for _, d := range m.Decisions {
			all = append(all, decision.Kind(d.Kind))
		}
		return all
	}
	assert.Equal(t, []decision.Kind{decision.Hedge, decision.Admit}, kinds())
	assert.Equal(t, []uint32{2, 2}, []uint32{m.Decisions[0].Attempt, m.Decisions[1].Attempt})
	assert.Equal(t, Stale, m.Done(p, slot, generation, 3, uint32(reducer.OK), nan, 200), "there is no third")
	assert.Equal(t, Stale, m.Renew(p, slot, generation, 3, 200))
	assert.Equal(t, int32(0), m.Renew(p, slot, generation, 1, 200))
	require.Equal(t, int32(2), m.Done(p, slot, generation, 2, uint32(reducer.OK), nan, 200))
	assert.Equal(t, []decision.Kind{decision.Cancel, decision.End}, kinds())
	assert.Equal(t, uint32(1), m.Decisions[0].Attempt)
	assert.Equal(t, int64(2), m.Decisions[1].Value)
	assert.Equal(t, uint8(Last|HasValue), m.Decisions[1].Flags)
	assert.Equal(t, Stale, m.Done(p, slot, generation, 1, uint32(reducer.OK), nan, 210))

	require.Equal(t, int32(1), m.Begin(p, 1, BeginNoHedge, nan, 1000))
	assert.Equal(t, int32(0), m.Advance(p, 1500))
	assert.Equal(t, BadArgument, m.Begin(p, 1, 2, nan, 1500))
	src := event(nil, OpBegin, 0, EventNoHedge, 0, 0, 2e9, 0)
	src = event(src, OpTick, 0, 0, 0, 0, 3e9, 0)
	require.Positive(t, m.Batch(p, write(t, &m, string(src))))
	assert.NotContains(t, kinds(), decision.Hedge)
}

// TestDescribe: a host learns the steps of a plan line by line.
func TestDescribe(t *testing.T) {
	var m Module
	plan := uint32(m.Body(write(t, &m, policy)))
	var all []string
	for step := uint32(0); m.Describe(plan, step) > 0; step++ {
		all = append(all, strings.ReplaceAll(text(&m), "\n", " "))
	}
	assert.Equal(t, []string{"retry retry enforce", "limit limit enforce key", "timeout timeout enforce"}, all)
	assert.Positive(t, m.MakerOf(plan, 1))
	assert.Equal(t, BadArgument, m.MakerOf(plan, 0))
	assert.Equal(t, BadArgument, m.MakerOf(plan, 3))
}

// TestPlan picks a policy by its name, and says what is wrong with a document.
func TestPlan(t *testing.T) {
	var m Module
	document := `{"version":1,"policies":{"a":` + policy + `,"b":{"steps":[{"timeout":"1s"}]}},"routes":[]}`
	assert.Positive(t, m.Plan(write(t, &m, "b"+document), 1))
	assert.Equal(t, BadPolicy, m.Plan(write(t, &m, "c"+document), 1))
	assert.Contains(t, text(&m), `"c"`)
	assert.Equal(t, BadPolicy, m.Plan(write(t, &m, document), 0))
	assert.Equal(t, BadPolicy, m.Body(write(t, &m, `{"steps":[{"limit":{"rate":"50"}},{"brake":1}]}`)))
	assert.Contains(t, text(&m), "steps[0].limit.rate")
	assert.Contains(t, text(&m), "breaker", "the nearest name")
}

// TestSaveAndLoad carries a pipeline's cells to another one.
func TestSaveAndLoad(t *testing.T) {
	var m Module
	p, q := pipelineOf(t, &m), pipelineOf(t, &m)
	nan := math.NaN()
	m.Slots.Keys[1] = 3
	for range 2 {
		m.Begin(p, 1, 0, nan, 100)
	}
	assert.Equal(t, int32(0), m.Save(p, 1, 9), "no such cell")
	assert.Equal(t, int32(0), m.Save(p, 2, 0), "a timeout has none")
	size := m.Save(p, 1, 3)
	require.Positive(t, size)
	require.Equal(t, int32(0), m.Load(q, 1, 3, uint32(size), 10_000, 10_100))
	require.Equal(t, int32(1), m.Begin(q, 1, 0, nan, 10_100))
	assert.Equal(t, uint8(decision.Reject), m.Decisions[0].Kind)
	assert.Equal(t, BadBytes, m.Load(q, 1, 3, 0, 0, 10_100))
	assert.Equal(t, BadBytes, m.Load(q, 0, 0, 0, 0, 10_100))
	assert.Equal(t, BadArgument, m.Load(q, 1, MaxKey+1, 0, 0, 10_100))
}

// TestObserve: the changes of breakers are decisions for a host that observes them.
func TestObserve(t *testing.T) {
	var m Module
	s, nan := &m.Slots, math.NaN()
	plan := m.Body(write(t, &m, `{"steps":[{"timeout":"9s"},{"breaker":{"window":{"consecutive":1},"open":"1s","probes":1,"per":"key"}}]}`))
	require.Positive(t, plan, text(&m))
	p := uint32(m.Pipeline(uint32(plan), 0, 0))
	fail := func(now float64) int32 {
		s.Keys[1] = 7
		require.Equal(t, int32(1), m.Begin(p, 1, 0, nan, now))
		return m.Done(p, s.Slot, s.Generation, 0, uint32(reducer.Fail), nan, now)
	}
	require.Equal(t, int32(1), fail(0), "not observed")
	require.Equal(t, int32(0), m.Observe(p, 1))
	require.Equal(t, int32(2), m.Begin(p, 1, 0, nan, 1000), "it becomes half-open, and admits")
	change := m.Decisions[0]
	assert.Equal(t, []uint8{uint8(decision.Change), 1, uint8(breaker.HalfOpen), HasValue},
		[]uint8{change.Kind, change.Step, uint8(change.Value), change.Flags})
	assert.Equal(t, []uint32{7, 0}, []uint32{change.Slot, change.Generation}, "the key, and no call")
	require.Equal(t, int32(2), m.Done(p, s.Slot, s.Generation, 0, uint32(reducer.OK), nan, 1000))
	assert.Equal(t, int64(breaker.Closed), m.Decisions[0].Value)
	require.Equal(t, int32(2), fail(1100))
	assert.Equal(t, int64(breaker.Open), m.Decisions[0].Value)
	require.Equal(t, int32(2), m.Configure(p, uint32(plan), 2200))
	assert.Equal(t, []uint8{uint8(decision.Configured), uint8(decision.Change)}, []uint8{m.Decisions[0].Kind, m.Decisions[1].Kind})
	assert.Equal(t, int64(breaker.HalfOpen), m.Decisions[1].Value, "what was due happens when its cell is adopted")
	require.Equal(t, int32(0), m.Ask(p, 1, 9, uint32(reducer.Reset), 0, 2200))
	require.Equal(t, int32(reducer.Done), m.Ask(p, 1, 7, uint32(reducer.Reset), 0, 2200))
	require.Equal(t, uint32(1), s.Count, "a reset closes it")
	require.Equal(t, int32(0), m.Observe(p, 0))
	require.Equal(t, int32(1), fail(2300))
	assert.Equal(t, BadHandle, m.Observe(99, 1))
}

// TestAsk: a host asks cells without a call, changes them, and evicts them.
func TestAsk(t *testing.T) {
	var m Module
	s, nan := &m.Slots, math.NaN()
	plan := m.Body(write(t, &m, `{"steps":[{"breaker":{"window":{"consecutive":1},"open":"1s"}},{"limit":{"rate":"2/1s","per":"key"}},{"bulkhead":{"concurrent":3,"per":"key"}},{"timeout":"1s"}]}`))
	require.Positive(t, plan, text(&m))
	p := uint32(m.Pipeline(uint32(plan), 0, 0))
	verdict := func(step, key uint32, kind reducer.Kind, cost uint32, now float64) reducer.Verdict {
		return reducer.Verdict(m.Ask(p, step, key, uint32(kind), cost, now))
	}
	assert.Equal(t, reducer.Admit, verdict(1, 5, reducer.Peek, 1, 0))
	assert.Equal(t, uint32(2), s.Free)
	assert.Equal(t, int32(0), m.Uses(p, 5), "a peek makes no cell")
	assert.Equal(t, reducer.Stale, verdict(1, 5, reducer.Tick, 0, 0))
	s.Keys[1], s.Keys[2] = 5, 5
	for range 2 {
		require.Equal(t, int32(1), m.Begin(p, 1, 0, nan, 0))
	}
	slot, generation := s.Slot, s.Generation
	assert.Equal(t, reducer.Reject, verdict(1, 5, reducer.Peek, 1, 100))
	assert.InDelta(t, 400.0, s.Millis, 1e-3)
	assert.Equal(t, reducer.Reject, verdict(1, 5, reducer.Peek, 2, 100))
	assert.InDelta(t, 900.0, s.Millis, 1e-3)
	assert.Equal(t, reducer.Done, verdict(1, 5, reducer.Tick, 0, 100))
	assert.Equal(t, reducer.Done, verdict(1, 5, reducer.Reset, 0, 100))
	assert.Equal(t, reducer.Admit, verdict(1, 5, reducer.Peek, 2, 100))
	assert.Equal(t, reducer.Admit, verdict(2, 5, reducer.Peek, 1, 100))
	assert.Equal(t, uint32(1), s.Free)

	assert.Equal(t, int32(0), m.Evict(p, 2, 5), "calls hold places")
	assert.Equal(t, int32(1), m.Evict(p, 1, 5))
	assert.Equal(t, int32(0), m.Evict(p, 1, 5), "there is none any more")
	assert.Equal(t, int32(0), m.Evict(p, 0, 0), "the only cell of a step")
	assert.Equal(t, int32(1), m.Done(p, slot, generation, 0, uint32(reducer.OK), nan, 100), "whose cell was evicted")

	assert.Equal(t, reducer.Done, verdict(0, 0, reducer.Transition, uint32(breaker.ForcedOpen), 200))
	assert.Equal(t, uint32(breaker.ForcedOpen), s.Mode)
	require.Equal(t, int32(1), m.Begin(p, 1, 0, nan, 200))
	assert.Equal(t, uint8(decision.Reject), m.Decisions[0].Kind)
	assert.Equal(t, reducer.Done, verdict(0, 0, reducer.Reset, 0, 200))
	assert.Equal(t, uint32(breaker.Closed), s.Mode)

	assert.Equal(t, BadArgument, m.Ask(p, 3, 0, uint32(reducer.Peek), 1, 200), "a timeout has no cells")
	assert.Equal(t, BadArgument, m.Ask(p, 9, 0, uint32(reducer.Peek), 1, 200))
	assert.Equal(t, BadArgument, m.Ask(p, 0, 0, uint32(reducer.Acquire), 1, 200))
	assert.Equal(t, BadArgument, m.Ask(p, 0, MaxKey+1, uint32(reducer.Peek), 1, 200))
	assert.Equal(t, BadHandle, m.Ask(99, 0, 0, uint32(reducer.Peek), 1, 200))
	assert.Equal(t, BadHandle, m.Evict(99, 0, 0))
}

// TestAskShared: a key without a cell answers as the cell that all new keys share.
func TestAskShared(t *testing.T) {
	var m Module
	plan := m.Body(write(t, &m, `{"steps":[{"limit":{"rate":"2/1s","per":"key","keys":1,"when_full":"share"}}]}`))
	require.Positive(t, plan, text(&m))
	p := uint32(m.Pipeline(uint32(plan), 0, 0))
	for key := uint32(1); key <= 2; key++ {
		m.Slots.Keys[0] = key
		require.Equal(t, int32(1), m.Begin(p, 1, 0, math.NaN(), 0))
	}
	require.Equal(t, int32(reducer.Admit), m.Ask(p, 0, 3, uint32(reducer.Peek), 1, 0))
	assert.Equal(t, uint32(1), m.Slots.Free)
	assert.Equal(t, int32(reducer.Stale), m.Ask(p, 0, 3, uint32(reducer.Reset), 0, 0))
}

// event appends an event of a batch.
func event(dst []byte, op, outcome, flags uint8, slot, generation uint32, at, span int64) []byte {
	dst = append(dst, op, outcome, flags, 0)
	for _, n := range []uint32{1, slot, generation} {
		dst = binary.LittleEndian.AppendUint32(dst, n)
	}
	for _, n := range []int64{at, span, 0} {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(n))
	}
	return dst
}

// TestBatch: events of a batch decide as one by one, and name calls of earlier
// batches and of their own.
func TestBatch(t *testing.T) {
	var m Module
	p := pipelineOf(t, &m)
	src := event(nil, OpBegin, 0, 0, 0, 0, 0, 0)
	src = event(src, OpDone, uint8(reducer.OK), EventOf, 0, 0, 1e6, 0)
	src = event(src, OpDone, uint8(reducer.OK), EventOf, 0, 0, 2e6, 0)
	src = event(src, OpBegin, 0, EventSpan, 0, 0, 3e6, 100)
	src = event(src, OpTick, 0, 0, 0, 0, 4e6, 0)
	require.Equal(t, int32(6), m.Batch(p, write(t, &m, string(src))))
	var told [][2]int
	for _, d := range m.Decisions {
		told = append(told, [2]int{int(d.Event), int(d.Kind)})
	}
	assert.Equal(t, [][2]int{{0, int(decision.Admit)}, {1, int(decision.End)}, {2, StaleKind}, {3, int(decision.Admit)}, {4, int(decision.Timeout)}, {4, int(decision.End)}}, told)
	assert.Equal(t, uint32(6), m.Slots.Count)

	for _, wrong := range [][]byte{
		src[:30],
		event(nil, 5, 0, 0, 0, 0, 0, 0),
		event(nil, OpDone, 0, 0, 0, 0, 0, 0),
		event(nil, OpDone, 5, 0, 0, 0, 0, 0),
		event(nil, OpDone, 1, EventOf, 0, 0, 0, 0),
		event(nil, OpBegin, 0, EventSpan, 0, 0, 0, -1),
		event(nil, OpBegin, 0, EventKeys, 0, 0, 0, 0),
		append(event(nil, OpBegin, 0, EventCosts, 0, 0, 0, 0), make([]byte, costsSize-1)...),
	} {
		assert.Negative(t, m.Batch(p, write(t, &m, string(wrong))))
	}
	good := event(nil, OpBegin, 0, 0, 0, 0, 9e9, 0)
	assert.Equal(t, BadBytes, m.Batch(p, write(t, &m, string(append(good, 1)))))
	assert.Equal(t, uint32(1), m.Slots.Count, "what comes before has happened")
}

// TestCosts: a call takes the costs of the slots, and of what follows an event, at the
// steps that priced names; elsewhere and later the default of the plan.
func TestCosts(t *testing.T) {
	var m Module
	plan := uint32(m.Body(write(t, &m, `{"steps":[{"limit":"9/1h"},{"limit":{"rate":"9/1h","per":"key","cost":{"attribute":"header:n","default":2}}}]}`)))
	n := m.Describe(plan, 1)
	assert.Equal(t, "limit-2\nlimit\nenforce\nkey\ncost=header:n", string(m.Buffer[:n]))
	p := uint32(m.Pipeline(plan, 0, 0))
	free := func() uint32 {
		require.Equal(t, int32(reducer.Admit), m.Ask(p, 1, 0, uint32(reducer.Peek), 0, math.NaN()))
		return m.Slots.Free
	}
	m.Slots.Priced, m.Slots.Costs = 1<<1, [pipeline.MaxSteps]uint32{7, 3}
	require.Equal(t, int32(1), m.Begin(p, 1, 0, math.NaN(), 0))
	assert.Equal(t, uint32(6), free())
	require.Equal(t, int32(1), m.Begin(p, 1, 0, math.NaN(), 0))
	assert.Equal(t, uint32(4), free())

	src := append(event(nil, OpBegin, 0, EventCosts, 0, 0, 0, 0), make([]byte, costsSize)...)
	binary.LittleEndian.PutUint32(src[EventSize:], 1<<1)
	binary.LittleEndian.PutUint32(src[EventSize+8:], 4)
	require.Equal(t, int32(2), m.Batch(p, write(t, &m, string(event(src, OpBegin, 0, 0, 0, 0, 0, 0)))), text(&m))
	assert.Equal(t, uint8(reducer.ReasonRate), m.Decisions[1].Reason)
	assert.Equal(t, uint32(0), free())
}

// TestUsed: a limit that settles takes what the slots, and an event, say of an attempt.
func TestUsed(t *testing.T) {
	var m Module
	p := uint32(m.Pipeline(uint32(m.Body(write(t, &m, `{"steps":[{"limit":{"rate":"9/1h","cost":2,"charge":"settle"}}]}`))), 0, 0))
	free := func() uint32 {
		m.Ask(p, 0, 0, uint32(reducer.Peek), 0, math.NaN())
		return m.Slots.Free
	}
	begin := func() { require.Equal(t, int32(1), m.Begin(p, 1, 0, math.NaN(), 0)) }
	done := func() int32 {
		return m.Done(p, m.Slots.Slot, m.Slots.Generation, 0, uint32(reducer.OK), math.NaN(), math.NaN())
	}
	begin()
	m.Slots.Spent, m.Slots.Used = 1, 5
	require.Equal(t, int32(1), done())
	assert.Equal(t, uint32(4), free())
	begin()
	require.Equal(t, int32(1), done())
	assert.Equal(t, uint32(2), free(), "the cost, where nothing was told")

	begin()
	src := event(nil, OpDone, uint8(reducer.OK), EventUsed, m.Slots.Slot, m.Slots.Generation, 0, 0)
	binary.LittleEndian.PutUint32(src[36:], 1)
	require.Equal(t, int32(1), m.Batch(p, write(t, &m, string(src))), text(&m))
	assert.Equal(t, uint32(1), free())
	binary.LittleEndian.PutUint32(src[36:], 1)
	src[2] = 0
	assert.Equal(t, BadBytes, m.Batch(p, write(t, &m, string(src))), "used without its flag")
}

// TestKeptPlaces: a call keeps its places beyond its end, and the host learns until when.
func TestKeptPlaces(t *testing.T) {
	var m Module
	s, nan := &m.Slots, math.NaN()
	p := uint32(m.Pipeline(uint32(m.Body(write(t, &m, `{"steps":[{"bulkhead":2},{"timeout":"10s"}]}`))), 0, 0))
	free := func() uint32 {
		m.Ask(p, 0, 0, uint32(reducer.Peek), 0, nan)
		return s.Free
	}
	end := func(deadline, now float64) (slot, generation uint32) {
		require.Equal(t, int32(1), m.Begin(p, 1, 0, deadline, now))
		slot, generation = s.Slot, s.Generation
		require.Equal(t, int32(1), m.Done(p, slot, generation, 0, uint32(reducer.OK)|DoneKeeps, nan, now+1000))
		assert.Equal(t, uint8(Last), m.Decisions[0].Flags)
		assert.Equal(t, uint32(1), s.Free, "places")
		return slot, generation
	}
	slot, generation := end(nan, 0)
	assert.InDelta(t, 9000.0, s.Millis, 0)
	assert.Equal(t, uint32(1), s.Step)
	assert.Equal(t, uint32(1), free())
	assert.Equal(t, Stale, m.Done(p, slot, generation, 0, uint32(reducer.OK)|DoneKeeps, nan, 1500))
	assert.Equal(t, []any{uint32(0), -1.0}, []any{s.Free, s.Millis})
	other, later := end(3000, 2000)
	assert.InDelta(t, 2000.0, s.Millis, 0)
	assert.Equal(t, uint32(Deadline), s.Step)
	assert.Equal(t, uint32(0), free())
	assert.Equal(t, int32(0), m.Cancel(p, slot, generation, 20_000))
	assert.Equal(t, Stale, m.Cancel(p, slot, generation, 20_000))
	assert.Equal(t, int32(0), m.Cancel(p, other, later, 20_000))
	assert.Equal(t, uint32(2), free())
	assert.Equal(t, BadArgument, m.Done(p, slot, generation, 0, DoneKeeps, nan, nan))
}

// TestPlanBytes: a document is compiled as its plan bytes are, and errors of plan
// bytes name the step and the setting.
func TestPlanBytes(t *testing.T) {
	var m Module
	write := func(src []byte) uint32 {
		require.Zero(t, m.Reserve(uint32(len(src))))
		return uint32(copy(m.Buffer, src))
	}
	plan := m.Body(write([]byte(`{"steps":[{"timeout":"9s"},{"limit":{"rate":"5/s","per":"key"}}],"fallback":{}}`)))
	require.Positive(t, plan)
	size := m.Encode(uint32(plan))
	require.Positive(t, size)
	src := slices.Clone(m.Buffer[:size])
	again := m.Compile(write(src))
	require.Positive(t, again)
	require.Equal(t, size, m.Encode(uint32(again)))
	assert.Equal(t, src, m.Buffer[:size])
	for step := range uint32(3) {
		a := m.Describe(uint32(plan), step)
		text := string(m.Buffer[:max(0, a)])
		assert.Equal(t, a, m.Describe(uint32(again), step))
		assert.Equal(t, text, string(m.Buffer[:max(0, a)]))
	}
	for _, c := range []struct {
		src  []byte
		code int32
		step int32
		text string
	}{
		{src[:len(src)-1], BadBytes, 1, "plan bytes: steps[1].counts: cut off, or a number that is not allowed"},
		{append([]byte{9}, src[1:]...), BadBytes, -1, "plan bytes: version: cut off, or a number that is not allowed"},
		{append(src[:len(src)-1:len(src)-1], 1), 0, 0, ""},
		{append(src[:len(src)-6:len(src)-6], 2, 0, 0, 0, 0, 0), BadPolicy, 1, "plan bytes: steps[1].order: found 2; allowed oldest or newest"},
	} {
		code := m.Compile(write(c.src))
		if c.code == 0 {
			assert.Positive(t, code)
			continue
		}
		assert.Equal(t, c.code, code)
		assert.Equal(t, c.step, int32(m.Slots.Step))
		assert.Equal(t, c.text, string(m.Buffer[:m.Slots.Size]))
	}
	assert.Equal(t, BadSize, m.Compile(uint32(len(m.Buffer))+1))
	assert.Equal(t, BadHandle, m.Encode(0))
}
