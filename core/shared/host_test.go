package shared

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/reducer"
)

// planOf compiles steps without names.
func planOf(t *testing.T, configs ...mechanism.Config) *pipeline.Plan {
	t.Helper()
	p := pipeline.Policy{Name: "p"}
	for _, c := range configs {
		p.Steps = append(p.Steps, pipeline.Step{Config: c})
	}
	plan, err := pipeline.Compile(p)
	require.NoError(t, err)
	return plan
}

// noted are the decisions of a host, in lines.
type noted struct {
	*Host
	lines []string
	last  decision.Decision
}

func newNoted(t *testing.T, p *Process, plan *pipeline.Plan) *noted {
	t.Helper()
	n := &noted{}
	h, err := p.Host(plan, func(_ *Call, d *decision.Decision) {
		n.last = *d
		n.lines = append(n.lines, lineOf(d))
	})
	require.NoError(t, err)
	n.Host = h
	return n
}

// lineOf returns what a decision says to the caller of a call.
func lineOf(d *decision.Decision) string {
	text := d.Kind.String()
	if d.Index >= 0 {
		text += fmt.Sprint(" ", d.Index)
	}
	if d.Reason != reducer.NoReason {
		text += " " + d.Reason.String()
	}
	switch d.Kind {
	case decision.Reject:
		text += fmt.Sprint(" after ", d.RetryAfter)
	case decision.End:
		text = fmt.Sprint(d.Kind, " ", d.Outcome)
	}
	if d.Shadow {
		text += " shadow"
	}
	return text
}

// locked is a store that several goroutines write, and which loses some writes.
type locked struct {
	mu     sync.Mutex
	of     *store
	random *rand.Rand
}

func (s *locked) Get(key []byte) ([]byte, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of.Get(key)
}

func (s *locked) Swap(key, value []byte, version uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(2) > 0 && s.of.Swap(key, value, version)
}

func (s *locked) Now() clock.Mark { return 1 }

// TestConcurrentProcesses has processes write at once, some of whose writes are lost: together
// they never admit more than the limit has or the bulkhead holds, and a call that the bulkhead
// refuses returns exactly what it took from the limit.
func TestConcurrentProcesses(t *testing.T) {
	const places, permits, calls = 3, 400, 400
	plan := planOf(t, limiter.Config{Count: permits, Period: time.Hour}, bulkhead.Config{Concurrent: places})
	for seed := range uint64(4) {
		s := &locked{of: newStore(), random: rand.New(rand.NewPCG(testenv.Seed(), seed))}
		var all sync.WaitGroup
		var mu sync.Mutex
		running, most, spent, unwritten := 0, 0, uint32(0), uint64(0)
		hosts := make([]*noted, 4)
		for n := range hosts {
			h := newNoted(t, &Process{Store: s, Member: uint32(n)}, plan)
			hosts[n] = h
			all.Go(func() {
				random := rand.New(rand.NewPCG(seed, uint64(n)))
				var live []*Call
				for range calls {
					c := &Call{}
					h.Begin(c, 1, nil)
					if h.last.Kind == decision.Admit {
						live = append(live, c)
						mu.Lock()
						running, spent = running+1, spent+1
						most = max(most, running)
						mu.Unlock()
					}
					for len(live) > 0 && random.IntN(2) == 0 {
						mu.Lock()
						running--
						mu.Unlock()
						h.End(live[0], reducer.OK)
						live = live[1:]
					}
					h.Tick(nil)
				}
				for _, c := range live {
					mu.Lock()
					running--
					mu.Unlock()
					h.End(c, reducer.OK)
				}
			})
		}
		all.Wait()
		var c Call
		for _, h := range hosts {
			for range 100 {
				h.Tick(nil) // what could not be written
			}
			unwritten += h.Counts(0).Exhausted + h.Counts(1).Exhausted
		}
		hosts[0].Begin(&c, 0, nil)
		answer, _ := hosts[0].Ask(&c, 0, reducer.Action{Kind: reducer.Peek, Cost: 1})
		assert.Equal(t, permits-spent, answer.Free, "of the limit")
		hosts[0].End(&c, reducer.OK)
		for range 100 {
			hosts[0].Tick(nil)
		}
		assert.Equal(t, fmt.Sprintf("held 0/%d members 0", places), strings.Split(hosts[1].Text(&c, 1), " last")[0])
		assert.LessOrEqual(t, most, places)
		assert.LessOrEqual(t, spent, uint32(permits))
		assert.Positive(t, unwritten)
	}
}

// TestReservations has calls of two processes wait at a limit: each has reserved its permits.
func TestReservations(t *testing.T) {
	s := newStore()
	s.now = 0
	plan := planOf(t, limiter.Config{Count: 1, Period: time.Second, Wait: 5 * time.Second, Queue: 2})
	one, other := newNoted(t, &Process{Store: s, Member: 1}, plan), newNoted(t, &Process{Store: s, Member: 2}, plan)
	begin := func(h *noted) *Call {
		c := &Call{}
		h.Begin(c, 1, nil)
		return c
	}
	turn := func(c *Call) time.Duration { return time.Duration(c.waits[0].turn) }
	begin(one)
	second, third := begin(one), begin(one)
	assert.Equal(t, []time.Duration{time.Second, 2 * time.Second}, []time.Duration{turn(second), turn(third)})
	begin(one)
	assert.Equal(t, "reject 0 full after 3s", one.lines[len(one.lines)-1], "each process has its queue")
	fourth := begin(other)
	assert.Equal(t, 3*time.Second, turn(fourth))

	one.End(third, reducer.Cancelled)
	assert.Equal(t, 1, one.Waiting())
	assert.Equal(t, 3*time.Second, turn(fourth), "those behind one that leaves do not move up")
	fifth := begin(other)
	assert.Equal(t, 4*time.Second, turn(fifth), "only permits on which no later reservation depends come back")
	other.End(fifth, reducer.Cancelled)
	assert.Equal(t, 4*time.Second, turn(begin(other)), "these do")

	var went []*Call
	for range 5 {
		s.now = s.now.Add(time.Second)
		one.Tick(func(c *Call) { went = append(went, c) })
		other.Tick(func(c *Call) { went = append(went, c) })
	}
	assert.Len(t, went, 3)
	assert.Equal(t, []*Call{second, fourth}, went[:2])
	assert.Zero(t, one.Waiting()+other.Waiting())
}

// TestAsking has a call wait at a bulkhead, where nothing can be reserved: it asks with each
// Tick, until its wait ends.
func TestAsking(t *testing.T) {
	s := newStore()
	s.now = 0
	plan := planOf(t, bulkhead.Config{Concurrent: 1, Queue: 5, Wait: 3 * time.Second})
	h := newNoted(t, &Process{Store: s}, plan)
	var first, second, third Call
	h.Begin(&first, 1, nil)
	h.Begin(&second, 1, nil)
	h.Begin(&third, 1, nil)
	h.Tick(func(*Call) { t.Error("no place is free") })
	s.now = s.now.Add(time.Second)
	h.End(&first, reducer.OK)
	var went []*Call
	h.Tick(func(c *Call) { went = append(went, c) })
	assert.Equal(t, []*Call{&second}, went)
	s.now = s.now.Add(2 * time.Second)
	h.Tick(func(c *Call) { went = append(went, c) })
	assert.Equal(t, []*Call{&second, &third}, went)
	assert.Equal(t, []string{"admit", "wait 0", "wait 0", "end ok", "admit", "expire 0 wait"}, h.lines)
}

// TestEndsWhileTimePasses has the first of two calls whose turn has come end the other one: it takes
// no place, and leaves the queue once.
func TestEndsWhileTimePasses(t *testing.T) {
	s := newStore()
	s.now = 0
	h := newNoted(t, &Process{Store: s}, planOf(t, bulkhead.Config{Concurrent: 2, Queue: 2, Wait: time.Hour}))
	var calls [4]Call
	for i := range calls {
		h.Begin(&calls[i], 1, nil)
	}
	require.Equal(t, 2, h.Waiting())
	h.End(&calls[0], reducer.OK)
	h.End(&calls[1], reducer.OK)
	var went []*Call
	h.Tick(func(c *Call) {
		went = append(went, c)
		h.End(&calls[3], reducer.Cancelled)
	})
	assert.Equal(t, []*Call{&calls[2]}, went)
	assert.Zero(t, h.Waiting())
	h.End(&calls[2], reducer.OK)
	for i := range calls {
		h.Begin(&calls[i], 1, nil)
	}
	assert.Equal(t, 2, h.Waiting(), "both places were free, and the queue is as long as before")
}

// TestLeases has a process that ends while it holds places: they are free after its lease, and
// the places of a process that renews are not.
func TestLeases(t *testing.T) {
	s := newStore()
	plan := planOf(t, bulkhead.Config{Concurrent: 2, Lease: 9 * time.Second})
	dead, alive := newNoted(t, &Process{Store: s, Member: 1}, plan), newNoted(t, &Process{Store: s, Member: 2}, plan)
	assert.Equal(t, mechanism.Forever, alive.Renews())
	var a, b, c Call
	dead.Begin(&a, 1, nil)
	alive.Begin(&b, 1, nil)
	assert.Equal(t, 3*time.Second, alive.Renews())
	for range 3 {
		alive.Begin(&c, 1, nil)
		assert.Equal(t, "reject 0 full after -1ns", lineOf(&alive.last))
		s.now = s.now.Add(3 * time.Second)
		alive.Tick(nil)
	}
	alive.Begin(&c, 1, nil)
	assert.Equal(t, decision.Admit, alive.last.Kind)
	dead.End(&a, reducer.OK)
	assert.Equal(t, "held 2/2 members 1", alive.Text(&c, 0), "the end of a lapsed permit frees nothing")
	alive.End(&c, reducer.OK)
	alive.End(&b, reducer.OK)
	assert.Equal(t, mechanism.Forever, alive.Renews())
}

// TestSharedMechanism has two policies of a process wait at one mechanism: its queue is one.
func TestSharedMechanism(t *testing.T) {
	s := newStore()
	p := &Process{Store: s}
	hosts := make([]*noted, 2)
	for i := range hosts {
		plan, err := pipeline.Compile(pipeline.Policy{Name: string(rune('a' + i)), Steps: []pipeline.Step{
			{Config: limiter.Config{Count: 1, Period: time.Hour, Wait: 5 * time.Hour, Queue: 1}, Mechanism: "vendor"}}})
		require.NoError(t, err)
		hosts[i] = newNoted(t, p, plan)
	}
	for i := range 3 {
		hosts[i%2].Begin(new(Call), 1, nil)
	}
	assert.Equal(t, []string{"admit", "reject 0 full after 2h0m0s"}, hosts[0].lines)
	assert.Equal(t, []string{"wait 0"}, hosts[1].lines)
}

// TestRefusedSteps has the steps that a host does not perform.
func TestRefusedSteps(t *testing.T) {
	limit := limiter.Config{Count: 1, Period: time.Second}
	for _, c := range []struct {
		config mechanism.Config
		per    []string
		want   string
	}{
		{timeout.Config{After: time.Second}, nil, "timeout: found a step whose cells no store keeps; allowed limit, breaker and bulkhead"},
		{adaptive.Config{}, nil, "adaptive: found a step whose cells no store keeps; allowed limit, breaker and bulkhead"},
		{bulkhead.Config{Concurrent: 1, Lease: time.Millisecond}, nil, "bulkhead: found a step with the lease 1ms; allowed a lease of at least 1s"},
		{bulkhead.Config{Concurrent: 1, Queue: 2, Order: limiter.Newest}, nil, "bulkhead: found a step with the order newest, whose queue is one of all workers; allowed order oldest"},
		{breaker.Config{Window: breaker.Time, Span: time.Minute, Count: 600}, []string{"ip"}, "breaker: found a step whose state has up to"},
		{breaker.Config{Window: breaker.Time, Span: time.Minute, Count: 600}, nil, ""},
	} {
		plan, err := pipeline.Compile(pipeline.Policy{Steps: []pipeline.Step{{Config: limit}, {Config: c.config, Per: c.per}}})
		require.NoError(t, err)
		h, err := (&Process{Store: newStore()}).Host(plan, func(*Call, *decision.Decision) {})
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		assert.Nil(t, h)
		require.ErrorContains(t, err, c.want)
		var wrong *reducer.ConfigError
		require.ErrorAs(t, err, &wrong)
	}
	_, allowed := Check(&pipeline.Step{Config: limiter.Config{}})
	assert.Equal(t, "a valid step", allowed)
	found, _ := Check(&pipeline.Step{})
	assert.NotEmpty(t, found)
}

// TestTwoEarlierForms has a full group of one earlier configuration and a spare cell of another:
// a step learns both.
func TestTwoEarlierForms(t *testing.T) {
	s := newStore()
	of := func(places uint32) *cells {
		c := config{name: "s", form: compiled(bulkhead.Config{Concurrent: places}), slots: 1}
		return cellsOf(s, c)
	}
	acquire := func(x *cells, name string) reducer.Answer {
		key := x.keyOf(name)
		answer, _ := x.step(&key, reducer.Action{Kind: reducer.TryAcquire, Permit: reducer.Permit{ID: 1}})
		return answer
	}
	require.Equal(t, reducer.Admit, acquire(of(3), "own").Verdict)
	require.Equal(t, reducer.Admit, acquire(of(4), "other").Verdict)
	x := of(5)
	for range 4 {
		require.Equal(t, reducer.Admit, acquire(x, "further").Verdict)
	}
	assert.Equal(t, reducer.ReasonFull, acquire(x, "further").Reason)
	assert.Zero(t, x.counts.Exhausted+x.counts.Lost)
}

// TestUpdate has writers that are first, and a change that leaves the value as it is.
func TestUpdate(t *testing.T) {
	s := newStore()
	key := []byte("k")
	add := func(old []byte, now clock.Mark) []byte {
		assert.Equal(t, s.now, now)
		return append(slices.Clone(old), 'a')
	}
	require.True(t, Update(s, key, add))
	s.others = func() {
		s.others = nil
		require.True(t, Update(s, key, add))
	}
	require.False(t, Update(s, key, add))
	value, version := s.Get(key)
	assert.Equal(t, "aa", string(value))
	require.True(t, Update(s, key, func([]byte, clock.Mark) []byte { return nil }))
	_, again := s.Get(key)
	assert.Equal(t, version, again)
}

// TestRefusalsThatEndEarly has a limit above a bulkhead, which returns permits to it: a refusal
// that was read does not stand for the next one.
func TestRefusalsThatEndEarly(t *testing.T) {
	s := newStore()
	plan := planOf(t, limiter.Config{Count: 2, Period: time.Hour}, bulkhead.Config{Concurrent: 1})
	a, b := newNoted(t, &Process{Store: s, Member: 1}, plan), newNoted(t, &Process{Store: s, Member: 2}, plan)
	a.Begin(new(Call), 1, nil)
	writes := 0
	s.others = func() {
		if writes++; writes == 2 { // the call has its permit, and is about to return it
			b.Begin(new(Call), 1, nil)
		}
	}
	a.Begin(new(Call), 1, nil)
	assert.Equal(t, "reject 0 rate after 30m0s", b.lines[0])
	assert.Equal(t, "reject 1 full after -1ns", a.lines[len(a.lines)-1])
	b.Begin(new(Call), 1, nil)
	assert.Equal(t, "reject 1 full after -1ns", b.lines[1])
}
