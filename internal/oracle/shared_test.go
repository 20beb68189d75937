package oracle_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/shared"
	"github.com/sluice-go/sluice/internal/oracle"
	"github.com/sluice-go/sluice/internal/oracle/generate"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/reducer"
)

// TestHostsAsDriver sends the calls of random logs through random policies, by several processes
// in turn whose store loses writes: all of them together decide as one driver with cells in its
// memory. The policies have no waits and leases, which a host performs in another way.
func TestHostsAsDriver(t *testing.T) {
	decided := map[string]int{}
	for d := range testenv.Draws(t, 150) {
		r := rand.New(rand.NewPCG(d.Seed, uint64(d.Case)))
		p, events := generate.GenerateOf(r, 1, mechanism.Limit, mechanism.Breaker, mechanism.Bulkhead)
		for i := range p.Steps {
			p.Steps[i].Keys = 0
			pipeline.Edit(&p.Steps[i], func(c *limiter.Config) { c.Wait, c.Queue, c.Order = 0, 0, limiter.Oldest })
			pipeline.Edit(&p.Steps[i], func(c *bulkhead.Config) { c.Wait, c.Queue, c.Order, c.Lease = 0, 0, limiter.Oldest, 0 })
		}
		plan, err := pipeline.Compile(p)
		require.NoError(t, err)
		l := newLog(t, r, plan)
		for i := range events {
			l.perform(&events[i])
			require.Equal(t, l.want, l.got, "SLUICE_SEED=%d, case %d, event %d %+v", d.Seed, d.Case, i, events[i])
		}
		for _, line := range l.got {
			if word := strings.Fields(line); word[0] == "reject" {
				decided[word[slices.Index(word, "after")-1]]++
			}
		}
	}
	if testenv.Seed() == 1 {
		for _, reason := range []string{"rate", "open", "probes", "full", "capacity", "denied", "missing"} {
			assert.Positive(t, decided[reason], reason)
		}
	}
}

// log is a log on its way through hosts and a driver.
type log struct {
	t         *testing.T
	random    *rand.Rand
	store     *lossy
	hosts     []*shared.Host
	driver    *drive.Driver
	keys      drive.Keys
	live      map[string]*liveCall
	got, want []string
}

type liveCall struct {
	shared.Call
	host   *shared.Host
	handle decision.Handle
	passed bool
}

func newLog(t *testing.T, r *rand.Rand, plan *pipeline.Plan) *log {
	l := &log{t: t, random: r, store: &lossy{values: map[string]stored{}}, driver: drive.New(plan, 1), live: map[string]*liveCall{}}
	lost := 0
	l.store.loses = func() bool {
		if lost++; lost > 2 || r.IntN(3) > 0 {
			lost = 0
			return false
		}
		return true
	}
	processes := 1 + r.IntN(3)
	if plan.Random() {
		processes = 1 // each host draws by the number of the call
	}
	for n := range processes {
		p := &shared.Process{Store: l.store, Slots: 1 << 16, Member: uint32(n)}
		h, err := p.Host(plan, func(c *shared.Call, d *decision.Decision) {
			if told(d) {
				l.got = append(l.got, said(d))
			}
			for _, one := range l.live {
				if &one.Call == c && d.Kind == decision.Admit {
					one.passed = true
				}
			}
		})
		require.NoError(t, err)
		l.hosts = append(l.hosts, h)
	}
	return l
}

// told reports whether hosts and drivers tell a decision alike.
func told(d *decision.Decision) bool {
	return d.Kind == decision.Admit || d.Kind == decision.Reject || d.Kind == decision.End && d.Outcome != reducer.Cancelled || d.Kind == decision.Clamped
}

// advance lets time pass, in which processes renew their leases.
func (l *log) advance(at clock.Mark) {
	for _, h := range l.hosts {
		for h.Renews() < mechanism.Forever && at.Sub(l.store.now) > h.Renews() {
			l.store.now = l.store.now.Add(h.Renews())
			for _, h := range l.hosts {
				h.Tick(nil)
			}
		}
	}
	l.store.now = max(l.store.now, at)
	l.driver.Advance(at)
	for _, h := range l.hosts {
		h.Tick(nil)
	}
}

func (l *log) perform(e *oracle.Event) {
	l.advance(clock.Mark(e.At))
	h := l.hosts[l.random.IntN(len(l.hosts))]
	c := l.live[e.ID]
	if c != nil {
		h = c.host
	}
	switch e.Op {
	case "call":
		lookup := func(attribute string) string {
			if attribute == "key" {
				return e.Key
			}
			return e.Attributes[attribute]
		}
		r := drive.Request{Cost: e.Cost, Deadline: -1}
		plan := l.driver.Plan()
		r.Keys, r.Missing = l.keys.Of(plan, lookup, l.driver.Uses)
		l.keys.Price(&r, plan, lookup)
		c = &liveCall{host: h}
		l.live[e.ID] = c
		h.Begin(&c.Call, e.Cost, lookup)
		c.handle = l.driver.Begin(&r)
	case "done":
		if c == nil || !c.passed {
			break
		}
		outcome := map[string]reducer.Outcome{"ok": reducer.OK, "fail": reducer.Fail, "throttle": reducer.Throttle, "ignore": reducer.Ignore}[e.Outcome]
		result := drive.Result{Outcome: outcome}
		if e.RetryAfter != nil {
			result.Told, result.RetryAfter = true, time.Duration(*e.RetryAfter)
			h.Vote(&c.Call, outcome, result.RetryAfter)
		}
		h.End(&c.Call, outcome)
		l.driver.Done(c.handle, result)
		delete(l.live, e.ID)
	case "cancel":
		if c == nil || !c.passed {
			break
		}
		h.End(&c.Call, reducer.Cancelled)
		l.driver.Cancel(c.handle)
		delete(l.live, e.ID)
	}
	for i := range l.driver.Decisions {
		if d := &l.driver.Decisions[i]; told(d) {
			l.want = append(l.want, said(d))
		}
	}
	l.driver.Decisions = l.driver.Decisions[:0]
}

// said returns what a decision says to the caller of a call.
func said(d *decision.Decision) string {
	if d.Kind == decision.End {
		return fmt.Sprint(d.Kind, " ", d.Outcome)
	}
	text := fmt.Sprint(d.Kind, " ", max(d.Index, -1), " ", d.Shadow, " ", d.Reason)
	if d.Kind == decision.Reject {
		text += fmt.Sprint(" after ", d.RetryAfter)
	}
	return text
}

// lossy is a shared.Store for one goroutine that may lose writes.
type lossy struct {
	values map[string]stored
	change uint64
	now    clock.Mark
	loses  func() bool
}

type stored struct {
	text   string
	change uint64
}

func (s *lossy) Get(key []byte) ([]byte, uint64) {
	v, ok := s.values[string(key)]
	if !ok {
		return nil, shared.Absent
	}
	return []byte(v.text), v.change
}

func (s *lossy) Swap(key, text []byte, version uint64) bool {
	if s.values[string(key)].change != version || s.loses() {
		return false
	}
	s.change++
	s.values[string(key)] = stored{string(text), s.change}
	return true
}

func (s *lossy) Now() clock.Mark { return s.now }
