package breaker_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/reducer"
)

var minute = backoff.Config{Kind: backoff.Constant, Base: time.Minute}

// harness steps a state of one machine.
type harness struct {
	t     *testing.T
	m     *breaker.Machine
	state breaker.State
	out   reducer.Out
	steps int
}

func begin(t *testing.T, c breaker.Config) *harness {
	t.Helper()
	m, err := breaker.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &harness{t: t, m: m, state: reducer.ValuesOf(m).Init(0)}
}

func (h *harness) step(a reducer.Action, now clock.Mark) reducer.Answer {
	h.t.Helper()
	answer := h.m.Step(&h.state, a, now, &h.out)
	if h.steps++; h.steps > 100 && h.steps%100 != 0 {
		return answer // a check costs as much as the state is long
	}
	if err := h.m.Check(&h.state); err != nil {
		h.t.Fatalf("after %v at %v: %v", a, now, err)
	}
	return answer
}

func (h *harness) acquire(now clock.Mark) reducer.Permit {
	h.t.Helper()
	answer := h.step(reducer.Action{Kind: reducer.Acquire}, now)
	if answer.Verdict != reducer.Admit {
		h.t.Fatalf("at %v: %v", now, answer)
	}
	return answer.Permit
}

func (h *harness) record(p reducer.Permit, o reducer.Outcome, now clock.Mark) reducer.Answer {
	h.t.Helper()
	return h.step(reducer.Action{Kind: reducer.Record, Outcome: o, Permit: p}, now)
}

func (h *harness) encoded() []byte { return reducer.ValuesOf(h.m).AppendState(nil, h.state) }

func (h *harness) fits(most int) {
	h.t.Helper()
	if n := len(h.encoded()); n > most {
		h.t.Errorf("%s takes %d bytes, at most %d were promised", h.m.AppendText(nil, &h.state, 0), n, most)
	}
}

// The sizes that the encoding promises, late on the line of marks and after
// thousands of openings.
func TestEncodedSize(t *testing.T) {
	const late = clock.Mark(1) << 61
	for _, n := range []uint32{1, 2, 3, 4, 31, 32, 33, 100, 9_999, 10_000} {
		h := begin(t, breaker.Config{Count: n, Minimum: n, FailureRate: reducer.Percent(100), SlowOver: 1, SlowRate: reducer.Percent(100), Open: minute, Probes: 10})
		p := h.acquire(late)
		h.record(p, reducer.OK, late)
		h.fits(39 + (int(n)+3)/4)
		for i := range n + n/3 {
			o := reducer.OK
			if i%2 == 1 {
				o = reducer.Fail
			}
			h.record(p, o, late+clock.Mark(i))
		}
		h.fits(39 + (int(n)+3)/4)
	}
	for _, n := range []uint32{1, 10, 1_000} {
		h := begin(t, breaker.Config{Window: breaker.Time, Count: n, Span: time.Hour, Minimum: 10_000, FailureRate: reducer.Percent(100), Open: minute, Probes: 10})
		p := h.acquire(-late)
		for i := range clock.Mark(2 * n) {
			now := late + i*clock.Mark(time.Hour)/clock.Mark(n)
			h.record(p, reducer.Fail, now)
			h.fits(40 + 3*int(min(n, uint32(i+1))))
		}
		h.record(p, reducer.OK, late+clock.Mark(5*time.Hour))
		h.fits(40 + 3)
	}
	for _, bound := range []time.Duration{0, time.Hour} {
		h := begin(t, breaker.Config{Window: breaker.Consecutive, Count: 1, Open: minute, Probes: 100, HalfOpenMax: bound})
		now := late
		for range 5_000 {
			h.record(h.acquire(now), reducer.Fail, now)
			now = now.Add(time.Minute)
		}
		h.fits(64)
		for i := range 60 {
			h.acquire(now)
			now = now.Add(time.Second / 2)
			h.fits(39 + 5*(i+1))
		}
	}
}

// A closed breaker of 100 calls is small in memory: its fields, and two bits a
// call from the first outcome on.
func TestMemory(t *testing.T) {
	if got := unsafe.Sizeof(breaker.State{}); got > 120 {
		t.Errorf("a state takes %d bytes", got)
	}
	h := begin(t, breaker.Config{Count: 100, Minimum: 100, FailureRate: reducer.Percent(100), Open: minute, Probes: 10})
	p := h.acquire(0)
	if n := testing.AllocsPerRun(1, func() { h.m.Exit(&h.state, p, 1) }); n > 1 {
		t.Errorf("the first outcome allocates %v times", n)
	}
	if n := testing.AllocsPerRun(200, func() {
		p, ok := h.m.Enter(&h.state, 1, 0, clock.Never, 2)
		if !ok || !h.m.Exit(&h.state, p, 2) {
			t.Error("not on the fast path")
		}
	}); n > 0 {
		t.Errorf("a call allocates %v times", n)
	}
}

// A healthy breaker does not change: a holder of bytes has nothing to write.
func TestHealthyStaysUnchanged(t *testing.T) {
	for name, c := range map[string]breaker.Config{
		"calls":       {Count: 5, Minimum: 5, FailureRate: reducer.Percent(100), Open: minute, Probes: 1},
		"consecutive": {Window: breaker.Consecutive, Count: 5, Open: minute, Probes: 1},
	} {
		h := begin(t, c)
		for i := range clock.Mark(20) {
			before := h.encoded()
			admitted := h.step(reducer.Action{Kind: reducer.Acquire}, i)
			counted := h.record(admitted.Permit, reducer.OK, i)
			if i >= 5 && (admitted.Changed || counted.Changed || !bytes.Equal(before, h.encoded())) {
				t.Errorf("%s: call %d changes %x to %x", name, i, before, h.encoded())
			}
		}
	}
}

// A state of another window is refused, and a machine of that window can adopt it:
// closed it starts without outcomes, otherwise it stays as it is. A half-open state
// with as many outcomes as there are probes now is refused, too.
func TestOtherConfiguration(t *testing.T) {
	config := breaker.Config{Count: 100, Minimum: 2, FailureRate: reducer.Percent(100), Open: minute, Probes: 3}
	h := begin(t, config)
	p := h.acquire(0)
	h.record(p, reducer.Fail, 0)
	other := config
	other.Count = 200
	wider := begin(t, other)
	if _, err := reducer.ValuesOf(wider.m).DecodeState(h.encoded()); !errors.Is(err, reducer.ErrConfiguration) || !errors.Is(err, reducer.ErrEncoding) {
		t.Errorf("another window: %v", err)
	}
	old, err := reducer.ValuesOf(h.m).DecodeState(h.encoded())
	if err != nil {
		t.Fatal(err)
	}
	wider.state = reducer.ValuesOf(wider.m).Adopt(old, h.m, 5, &wider.out)
	if wider.state.Total != 0 || wider.state.Generation != h.state.Generation {
		t.Errorf("adopted: %+v", wider.state.Core)
	}
	if answer := wider.record(p, reducer.Fail, 6); answer.Verdict != reducer.Done || wider.state.Total != 1 {
		t.Errorf("a permit of an older generation: %v", answer)
	}

	h.record(p, reducer.Fail, 0)
	probe := h.acquire(clock.Mark(time.Minute))
	h.record(probe, reducer.OK, clock.Mark(time.Minute))
	same := config
	same.FailureRate, same.Minimum, same.Open.Base, same.Probes = reducer.Millionths(1), 1, time.Second, 2
	if state, err := reducer.ValuesOf(begin(t, same).m).DecodeState(h.encoded()); err != nil || state.Total != 1 {
		t.Errorf("other rates, open time and probes: %v", err)
	}
	same.Probes = 1
	fewer := begin(t, same)
	if _, err := reducer.ValuesOf(fewer.m).DecodeState(h.encoded()); !errors.Is(err, reducer.ErrConfiguration) || !errors.Is(err, reducer.ErrEncoding) {
		t.Errorf("one probe instead of three: %v", err)
	}
	if s := reducer.ValuesOf(fewer.m).Adopt(reducer.ValuesOf(h.m).Clone(h.state), h.m, clock.Mark(time.Minute), &fewer.out); s.Mode != breaker.Closed {
		t.Errorf("one good probe of one: %v", s.Mode)
	}
}

// The breaker of another mechanism's machine is new.
func TestAdoptOfAnotherMachine(t *testing.T) {
	h := begin(t, breaker.Config{Window: breaker.Consecutive, Count: 3, Open: minute, Probes: 1})
	h.acquire(0)
	if s := reducer.ValuesOf(h.m).Adopt(h.state, nil, 0, &h.out); s.Generation != 0 {
		t.Errorf("%+v", s.Core)
	}
}

// An action without a permit of this generation neither begins a breaker nor counts
// in it, also on the fast path.
func TestWithoutPermit(t *testing.T) {
	h := begin(t, breaker.Config{Window: breaker.Time, Count: 10, Span: time.Hour, Minimum: 1, FailureRate: reducer.Percent(100), Open: minute, Probes: 1})
	for _, kind := range []reducer.Kind{reducer.Record, reducer.Cancel, reducer.Release, reducer.Tick, reducer.Peek, reducer.Reset, reducer.Leave} {
		for _, p := range []reducer.Permit{{}, {Generation: 1}, {Generation: 7, ID: 3}} {
			answer := h.step(reducer.Action{Kind: kind, Outcome: reducer.Fail, Permit: p}, 5)
			if h.state.Generation != 0 || answer.Changed || len(h.out) > 0 {
				t.Fatalf("%v of %v: %v, %+v", kind, p, answer, h.state.Core)
			}
		}
	}
	if h.m.Exit(&h.state, reducer.Permit{}, 5) || h.state.Generation != 0 || h.state.Total != 0 {
		t.Errorf("Exit of no permit counts: %+v", h.state.Core)
	}
	h.acquire(7)
	if h.state.Origin != 7 {
		t.Errorf("the buckets begin at %v", h.state.Origin)
	}
	if answer := h.record(reducer.Permit{}, reducer.Fail, 8); answer.Verdict != reducer.Stale || h.state.Total != 0 {
		t.Errorf("no permit: %v", answer)
	}
	if h.m.Exit(&h.state, reducer.Permit{}, 8) || h.state.Total != 0 {
		t.Error("Exit of no permit counts")
	}
}

// However many probes are sent at one mark, each has its own ID and counts once; the
// IDs stay unique when time goes on, and over a generation that lasts for years.
func TestProbesHaveIDsOfTheirOwn(t *testing.T) {
	for _, bound := range []time.Duration{0, 24 * time.Hour} {
		h := begin(t, breaker.Config{Window: breaker.Consecutive, Count: 1, Open: minute, Probes: 1_000, HalfOpenMax: bound})
		h.record(h.acquire(0), reducer.Fail, 0)
		now := clock.Mark(time.Minute)
		seen := map[reducer.Permit]bool{}
		send := func() reducer.Permit {
			p := h.acquire(now)
			key := reducer.Permit{Generation: p.Generation, ID: p.ID}
			if seen[key] || p.ID == 0 {
				t.Fatalf("the ID %d was given before", p.ID)
			}
			seen[key] = true
			return p
		}
		first := send()
		var out []reducer.Permit
		for range 990 {
			out = append(out, send())
		}
		for range 5_000 { // more than the serial numbers of a mark
			p := send()
			if h.record(p, reducer.Ignore, now).Verdict != reducer.Done || h.record(p, reducer.OK, now).Verdict != reducer.Stale {
				t.Fatal("a probe ends twice")
			}
			if len(seen)%100 == 0 {
				now++
			}
		}
		if h.record(first, reducer.OK, now).Verdict != reducer.Done || h.record(first, reducer.OK, now).Verdict != reducer.Stale {
			t.Error("the first probe votes twice, or never")
		}
		if h.state.Total != 1 || int(h.state.ProbesOut) != len(out) {
			t.Errorf("%+v", h.state.Core)
		}
		if bound > 0 {
			continue
		}
		// Probes lapse in the order of their sending, at their own marks.
		wake, _ := reducer.ValuesOf(h.m).NextWake(h.state)
		if want := clock.Mark(2 * time.Minute); wake != want {
			t.Errorf("the first lapse is at %v, want %v", wake, want)
		}
		now = clock.Mark(10 * 365 * 24 * time.Hour)
		for n := range 1_500 {
			p := send()
			h.record(p, reducer.Ignore, now)
			if n == 0 && p.ID != 1 {
				t.Errorf("the first ID of a generation is %d", p.ID)
			}
		}
		if generation := h.state.Generation; generation != 4 {
			t.Errorf("generation %d: the IDs began anew otherwise than once", generation)
		}
	}
}

// An idle breaker comes to the same state however time is split, whatever its
// backoff, and reports few changes at once. At every wake it is in the mode that the
// rules give: a half-open stay without a probe follows each open time, all of one length.
func TestIdleCycles(t *testing.T) {
	const seed = 11
	rng := rand.New(rand.NewPCG(seed, 0))
	kinds := []backoff.Kind{backoff.Constant, backoff.Linear, backoff.Exponential, backoff.Fibonacci, backoff.Decorrelated, backoff.Listed}
	for n := range 300 {
		c := breaker.Config{Window: breaker.Consecutive, Count: 1, Probes: 1, HalfOpenMax: time.Duration(1 + rng.IntN(50)),
			Open: backoff.Config{Kind: kinds[n%len(kinds)], Base: time.Duration(1 + rng.IntN(100))}}
		switch c.Open.Kind {
		case backoff.Exponential:
			c.Open.Factor = backoff.FactorOne + []backoff.Factor{0, 1, 1_000, 100_000, 1_000_000}[rng.IntN(5)]
		case backoff.Decorrelated:
		default:
			c.Open.Jitter = backoff.JitterKind(rng.IntN(3))
		}
		if c.Open.Kind == backoff.Listed {
			list := []time.Duration{c.Open.Base, time.Duration(1 + rng.IntN(100)), c.Open.Base, time.Duration(1 + rng.IntN(100))}
			c.Open.Base, c.Open.Delays = 0, backoff.Delays(list[:1+rng.IntN(4)]...)
		} else if rng.IntN(2) == 0 {
			c.Open.Max = c.Open.Base * time.Duration(1+rng.IntN(30))
		}
		h := begin(t, c)
		h.record(h.acquire(0), reducer.Fail, 0)
		start := reducer.ValuesOf(h.m).Clone(h.state)
		end := clock.Mark(rng.Int64N(1 << (10 + rng.IntN(50))))

		whole := begin(t, c)
		whole.state = reducer.ValuesOf(h.m).Clone(start)
		whole.step(reducer.Action{Kind: reducer.Tick}, end)
		if len(whole.out) > 5 {
			t.Fatalf("seed %d, case %d: %d changes reported in a step", seed, n, len(whole.out))
		}
		var marks []clock.Mark
		for range rng.IntN(20) {
			marks = append(marks, clock.Mark(rng.Int64N(int64(end)+1)))
		}
		for i := range marks {
			for j := i; j > 0 && marks[j] < marks[j-1]; j-- {
				marks[j], marks[j-1] = marks[j-1], marks[j]
			}
		}
		for _, at := range append(marks, end) {
			h.step(reducer.Action{Kind: reducer.Tick}, at)
		}
		if !bytes.Equal(h.encoded(), whole.encoded()) {
			t.Fatalf("seed %d, case %d: %+v until %v, split at %v: %+v, at once %+v", seed, n, c, end, marks, h.state.Core, whole.state.Core)
		}
		follows(t, fmt.Sprintf("seed %d, case %d", seed, n), c, h.m, start)
	}
}

// follows compares the first changes of an idle breaker with the rules.
func follows(t *testing.T, where string, c breaker.Config, m *breaker.Machine, s breaker.State) {
	t.Helper()
	delay, err := backoff.New(c.Open)
	if err != nil {
		t.Fatal(err)
	}
	until, opens, idle := s.OpenUntil, s.Opens, delay.Nominal(s.Opens)
	for k := 2; k <= 1_100; k++ {
		m.Step(&s, reducer.Action{Kind: reducer.Tick}, until, new(reducer.Out))
		until = until.Add(c.HalfOpenMax)
		if s.Mode != breaker.HalfOpen || s.HalfOpenUntil != until {
			t.Fatalf("%s: opening %d is followed by %v until %v, want half-open until %v", where, k, s.Mode, s.HalfOpenUntil, until)
		}
		m.Step(&s, reducer.Action{Kind: reducer.Tick}, until, new(reducer.Out))
		until = until.Add(idle)
		if s.Mode != breaker.Open || s.OpenUntil != until || s.Opens != opens {
			t.Fatalf("%s: opening %d is %v until %v, want open until %v", where, k, s.Mode, s.OpenUntil, until)
		}
	}
}

// A breaker without calls does not stay open longer and longer: one failure and a long
// silence leave it open for no longer than the failure itself, whatever its backoff.
func TestIdleDoesNotGrow(t *testing.T) {
	const quiet = clock.Mark(10_000 * time.Hour)
	for _, kind := range []backoff.Kind{backoff.Linear, backoff.Fibonacci, backoff.Exponential} {
		open := backoff.Config{Kind: kind, Base: 10 * time.Second}
		if kind == backoff.Exponential {
			open.Factor = 2 * backoff.FactorOne
		}
		h := begin(t, breaker.Config{Window: breaker.Consecutive, Count: 1, Probes: 1, HalfOpenMax: 10 * time.Second, Open: open})
		h.record(h.acquire(0), reducer.Fail, 0)
		if h.step(reducer.Action{Kind: reducer.Tick}, quiet); h.state.Mode == breaker.HalfOpen {
			h.step(reducer.Action{Kind: reducer.Tick}, quiet.Add(10*time.Second))
		}
		if h.state.Mode != breaker.Open || h.state.OpenFor != 10*time.Second || h.state.Opens != 1 {
			t.Errorf("%v: %v for %v, opening %d", kind, h.state.Mode, h.state.OpenFor, h.state.Opens)
		}
		// A failed probe makes it grow from there.
		until := h.state.OpenUntil
		h.record(h.acquire(until), reducer.Fail, until)
		delay, err := backoff.New(open)
		if err != nil {
			t.Fatal(err)
		}
		if want := delay.Nominal(2); h.state.OpenFor != want || h.state.Opens != 2 {
			t.Errorf("%v: open for %v after a failed probe, want %v; opening %d", kind, h.state.OpenFor, want, h.state.Opens)
		}
	}
}

// Without `max` an open time saturates however often probes fail, and the breaker stays
// open for good then.
func TestGrowthSaturates(t *testing.T) {
	for _, kind := range []backoff.Kind{backoff.Linear, backoff.Fibonacci} {
		h := begin(t, breaker.Config{Window: breaker.Consecutive, Count: 1, Probes: 1, Open: backoff.Config{Kind: kind, Base: time.Hour}})
		now, before := clock.Mark(0), time.Duration(0)
		for n := uint32(1); now != clock.Never && n <= breaker.MaxGrowth+2; n++ {
			h.record(h.acquire(now), reducer.Fail, now)
			if h.state.OpenFor < before || h.state.Opens != n {
				t.Fatalf("%v: opening %d lasts %v, that before %v", kind, h.state.Opens, h.state.OpenFor, before)
			}
			before, now = h.state.OpenFor, h.state.OpenUntil
		}
		if kind == backoff.Linear && before != breaker.MaxGrowth*time.Hour || kind == backoff.Fibonacci && now != clock.Never {
			t.Errorf("%v: the last open time is %v", kind, before)
		}
	}
}

// The delay of a decorrelated backoff does not carry over from one episode to
// the next.
func TestDecorrelatedBeginsAnew(t *testing.T) {
	h := begin(t, breaker.Config{Window: breaker.Consecutive, Count: 1, Probes: 1,
		Open: backoff.Config{Kind: backoff.Decorrelated, Base: time.Second}})
	now := clock.Mark(0)
	fail := func() time.Duration {
		h.record(h.acquire(now), reducer.Fail, now)
		opened := now
		now = h.state.OpenUntil
		return now.Sub(opened)
	}
	delay, err := backoff.New(h.m.Config().Open)
	if err != nil {
		t.Fatal(err)
	}
	before := time.Duration(0)
	for n := uint64(1); n <= 8; n++ {
		want := delay.Delay(1, before, backoff.Word(n))
		if got := fail(); got != want {
			t.Errorf("opening %d lasts %v, want %v", n, got, want)
		}
		before = want
		if n%4 == 0 {
			h.record(h.acquire(now), reducer.OK, now)
			before = 0
		}
	}
}

// A breaker with a time window is never fresh after its first step: a new one
// would cut its buckets from another mark.
func TestFresh(t *testing.T) {
	for window, want := range map[breaker.WindowKind]bool{breaker.Calls: true, breaker.Time: false, breaker.Consecutive: true} {
		c := breaker.Config{Window: window, Count: 5, Probes: 1, Open: minute}
		if window != breaker.Consecutive {
			c.Minimum, c.FailureRate = 1, reducer.Percent(100)
		}
		if window == breaker.Time {
			c.Span = time.Hour
		}
		h := begin(t, c)
		if !reducer.ValuesOf(h.m).Fresh(h.state, 0) || h.m.Held(&h.state) {
			t.Errorf("%v: a new one is not fresh, or held", window)
		}
		p := h.acquire(0)
		if got := reducer.ValuesOf(h.m).Fresh(h.state, 1); got != want {
			t.Errorf("%v: fresh after its first call: %v", window, got)
		}
		h.record(p, reducer.Fail, 1)
		if reducer.ValuesOf(h.m).Fresh(h.state, 1) || h.m.Held(&h.state) {
			t.Errorf("%v: fresh after a failure, or held", window)
		}
	}
	h := begin(t, breaker.Config{Window: breaker.Consecutive, Count: 1, Probes: 1, Open: minute})
	h.record(h.acquire(0), reducer.Fail, 0)
	p := h.acquire(clock.Mark(time.Minute))
	if !h.m.Held(&h.state) {
		t.Error("a probe is out, and the breaker is not held")
	}
	if h.record(p, reducer.Ignore, clock.Mark(time.Minute)); h.m.Held(&h.state) {
		t.Error("no probe is out, and the breaker is held")
	}
}

// A half-open breaker without a probe has no pending probes and no outcomes.
func TestProbesWithoutAProbe(t *testing.T) {
	h := begin(t, breaker.Config{Window: breaker.Consecutive, Count: 1, Open: minute, Probes: 3})
	h.record(h.acquire(0), reducer.Fail, 0)
	first := h.acquire(clock.Mark(time.Minute))
	second := h.acquire(clock.Mark(2*time.Minute - 2))
	h.record(second, reducer.Ignore, clock.Mark(2*time.Minute-1))
	if h.state.Cursor != 0 || h.state.Total != 0 || h.state.ProbesOut != 1 || first.ID != 1 {
		t.Fatalf("%+v", h.state.Core)
	}
	src := h.encoded()
	const flags, probed = 6, 1 << 3
	if src[flags]&probed == 0 {
		t.Fatalf("%x", src)
	}
	src[flags] &^= probed
	if s, err := reducer.ValuesOf(h.m).DecodeState(src); !errors.Is(err, reducer.ErrEncoding) {
		t.Errorf("%x is read as %+v, %v", src, s.Core, err)
	}
}

// A breaker that has forgotten its failures is as a new one, from the mark on at which it has.
func TestForgottenIsFresh(t *testing.T) {
	c := breaker.Config{Window: breaker.Consecutive, Count: 3, Forget: time.Minute, Probes: 1, Open: minute}
	h := begin(t, c)
	p := h.acquire(0)
	h.record(p, reducer.Fail, 5)
	h.record(p, reducer.Fail, 7)
	end := clock.Mark(7).Add(time.Minute)
	if class, until := h.m.Class(&h.state, end-1); class != reducer.InUse || until != end || reducer.ValuesOf(h.m).Fresh(h.state, end-1) {
		t.Errorf("a nanosecond before: class %d until %s", class, until)
	}
	if class, until := h.m.Class(&h.state, end); class != reducer.Unused || until != clock.Never || !reducer.ValuesOf(h.m).Fresh(h.state, end) {
		t.Errorf("at the end: class %d until %s", class, until)
	}
	made, err := breaker.Cells(c)
	if err != nil {
		t.Fatal(err)
	}
	x := made.New(0)
	if err := x.Restore(h.encoded()); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[clock.Mark]uint32{end - 1: 2, end: 0} {
		if _, counts, ok := breaker.At(x, at); !ok || counts.Failed != want {
			t.Errorf("%s: %d failures in a row", at, counts.Failed)
		}
	}
	// Slow outcomes in a row are not forgotten.
	c.SlowOver, c.SlowConsecutive = 1, 3
	slow := begin(t, c)
	slow.record(slow.acquire(0), reducer.Fail, 5)
	if class, until := slow.m.Class(&slow.state, end+5); class != reducer.InUse || until != clock.Never {
		t.Errorf("with a slow outcome: class %d until %s", class, until)
	}
}

// A changed time to forget is a changed window, which starts without outcomes; its bytes are
// those of another one.
func TestForgetIsOfTheWindow(t *testing.T) {
	c := breaker.Config{Window: breaker.Consecutive, Count: 3, Forget: time.Minute, Probes: 1, Open: minute}
	h := begin(t, c)
	p := h.acquire(0)
	h.record(p, reducer.Fail, 5)
	for _, forget := range []time.Duration{0, time.Hour} {
		c.Forget = forget
		other := begin(t, c)
		if _, err := reducer.ValuesOf(other.m).DecodeState(h.encoded()); !errors.Is(err, reducer.ErrConfiguration) {
			t.Errorf("bytes for %s: %v", forget, err)
		}
		if s := reducer.ValuesOf(other.m).Adopt(reducer.ValuesOf(h.m).Clone(h.state), h.m, 6, &other.out); s.Failed != 0 || other.m.Check(&s) != nil {
			t.Errorf("adopted for %s: %d failures, %v", forget, s.Failed, other.m.Check(&s))
		}
	}
}
