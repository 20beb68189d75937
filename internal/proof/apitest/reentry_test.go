package apitest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
)

// reentered are documents that differ in every step that keeps a state.
var reentered = [...]string{
	`version: 1
mechanisms: {common: {bulkhead: 50}}
policies:
  p: {steps: [{limit: {rate: 3/1s, per: key, keys: 2, block: {after: 2, for: 1s}}}, {breaker: {window: {consecutive: 1}, open: 1s}}, {use: common}, {bulkhead: {name: leased, concurrent: 9, lease: 1s}}]}
  q: {steps: [{use: common}, {hedge: {parallel: true}}]}
`,
	`version: 1
mechanisms: {common: {bulkhead: 60}}
policies:
  p: {steps: [{limit: {rate: 4/1s, per: key, keys: 1}}, {breaker: {window: {consecutive: 2}, open: 2s}}, {use: common}, {bulkhead: {name: leased, concurrent: 8}}]}
  r: {steps: [{use: common}]}
`,
}

// reentry is everything that is public, and a listener at each of it.
type reentry struct {
	set      *sluice.Set
	p        *sluice.Pipeline
	limiter  *sluice.Limiter
	keyed    *sluice.KeyedLimiter
	breaker  *sluice.Breaker
	bulkhead *sluice.Bulkhead
	retrier  *sluice.Retrier
	saved    []byte // a snapshot with keys that the pipeline has evicted since
	locked   *lockedSet

	hear  func(kind string)
	heard atomic.Bool // what the listener does emits, too
}

// lockedSet is the planted mutant: it emits while it holds a lock that a method of it takes.
type lockedSet struct {
	mu  sync.Mutex
	set *sluice.Set
}

func (l *lockedSet) Reload() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.set.Reload("locked.yaml", []byte(reentered[1]))
}

func (l *lockedSet) Touch() {
	l.mu.Lock()
	defer l.mu.Unlock()
}

func newReentry(t *testing.T, hear func(kind string)) *reentry {
	set, err := sluice.Parse("reentry.yaml", []byte(reentered[0]), quiet())
	require.NoError(t, err)
	r := &reentry{set: set, p: set.Pipeline("p"), locked: &lockedSet{set: set}, hear: hear}
	r.limiter = must(sluice.NewLimiter(limiter.Config{Count: 1_000, Period: time.Second, Burst: 1_000}))
	r.keyed = must(sluice.NewKeyedLimiter(limiter.Config{Count: 3, Period: time.Second, Burst: 3}, sluice.WithMaxKeys(2)))
	r.breaker = must(sluice.NewBreaker(breaker.Config{Window: breaker.Consecutive, Count: 1, Probes: 1, Open: backoff.Config{Kind: backoff.Constant, Base: time.Second}}))
	r.bulkhead = must(sluice.NewBulkhead(bulkhead.Config{Concurrent: 100, Lease: time.Second}))
	r.retrier = must(sluice.NewRetry(retry.Config{Attempts: 2, Backoff: backoff.Config{Kind: backoff.None}}))
	for _, key := range []string{"a", "b"} {
		_ = sluice.RunWith(context.Background(), r.p, sluice.Request{Key: key}, succeeds)
	}
	r.saved = r.p.Snapshot()
	for _, key := range []string{"c", "d"} {
		_ = sluice.RunWith(context.Background(), r.p, sluice.Request{Key: key}, succeeds)
	}
	listener := func(e sluice.Event) { r.listen(e.Kind.String()) }
	set.Listen(listener)
	set.Observe(observer{r})
	for _, x := range []interface {
		Listen(f func(sluice.Event), kinds ...sluice.EventKind) (stop func())
	}{r.limiter, r.keyed, r.breaker, r.bulkhead, r.retrier} {
		x.Listen(listener)
	}
	return r
}

func (r *reentry) listen(kind string) {
	if !r.heard.Swap(true) {
		r.hear(kind)
		r.heard.Store(false)
	}
}

// observer is the listener as an Observer.
type observer struct{ r *reentry }

func (o observer) Observe(e sluice.Event) { o.r.listen(e.Kind.String()) }
func (o observer) Admitted(string)        { o.r.listen(decision.Admit.String()) }
func (o observer) Succeeded(_ string, _ context.Context, _ time.Duration) {
	o.r.listen(decision.End.String())
}

// public is a call of a public method.
type public struct {
	name string
	call func()
}

// inner are methods of the runner that an embedded struct makes public.
var inner = []string{"Cancelled", "Classify", "ClassifyResult", "GaveUp", "Injected", "ListenerPanicked", "Panicked", "Rejected", "TimedOut"}

// methods are calls of every public method, found by reflection, so that a new one takes part,
// and of what needs more than one value.
func (r *reentry) methods(t *testing.T) (all []public) {
	for name, x := range map[string]any{
		"Set": r.set, "Pipeline": r.p, "Limiter": r.limiter, "KeyedLimiter": r.keyed, "Breaker": r.breaker, "Bulkhead": r.bulkhead, "Retrier": r.retrier,
		"Handle of a limit": r.p.Step("limit").Key("c"), "Handle of all keys": r.p.Step("limit"), "Handle of a breaker": r.p.Step("breaker"),
		"Handle of a bulkhead": r.p.Step("leased"), "lockedSet": r.locked,
	} {
		v := reflect.ValueOf(x)
		for i := range v.NumMethod() {
			method := v.Type().Method(i)
			if slices.Contains(inner, method.Name) {
				continue
			}
			all = append(all, public{name + "." + method.Name, func() { r.reflected(t, name, method.Name, v.Method(i)) }})
		}
	}
	run := func(p *sluice.Pipeline, q sluice.Request, fn func(context.Context) error) {
		_ = sluice.RunWith(context.Background(), p, q, fn)
	}
	failing := func(context.Context) error { return errors.New("no") }
	all = append(all,
		public{"RunWith of a new key", func() { run(r.p, sluice.Request{Key: "new"}, succeeds) }},
		public{"RunWith that fails", func() { run(r.p, sluice.Request{Key: "c"}, failing) }},
		public{"RunWith that is refused", func() { run(r.p, sluice.Request{Key: "c", Cost: 1_000}, succeeds) }},
		public{"RunWith with a hedge", func() { run(r.set.Pipeline("q"), sluice.Request{}, succeeds) }},
		public{"Call", func() {
			if c, err := r.p.Begin(context.Background(), sluice.Request{Key: "d"}); err == nil {
				c.Limits(nil)
				c.Done(reducer.Fail)
				c.Release()
			}
		}},
		public{"Pass.Done", func() {
			if pass, err := r.breaker.Acquire(); err == nil {
				pass.DoneRetryAfter(reducer.Fail, time.Second)
			}
		}},
		public{"Place.Release", func() {
			if place, ok := r.bulkhead.TryAcquire(); ok {
				place.Renew()
				place.Release()
			}
		}},
		public{"Limiter.AllowN above its burst", func() { r.limiter.AllowN(5_000) }},
		public{"KeyedLimiter.AllowN of a new key", func() { r.keyed.Allow("new"); r.keyed.Allow("newer"); r.keyed.Allow("newest") }},
		public{"Reservation.Cancel", func() {
			if x, err := r.limiter.Reserve(1, 0); err == nil {
				x.Cancel()
			}
		}},
		public{"Retrier.Do that fails", func() { _ = r.retrier.Do(context.Background(), failing) }},
		public{"a lease that runs out", func() {
			_ = sluice.RunWith(context.Background(), r.p, sluice.Request{Key: "c"}, func(context.Context) error {
				time.Sleep(2 * time.Second)
				return nil
			})
		}},
	)
	slices.SortFunc(all, func(a, b public) int { return strings.Compare(a.name, b.name) })
	return all
}

// reflected calls a method with values by their types.
func (r *reentry) reflected(t *testing.T, of, name string, m reflect.Value) {
	var in []reflect.Value
	for i := range m.Type().NumIn() {
		at := m.Type().In(i)
		if m.Type().IsVariadic() && i == m.Type().NumIn()-1 {
			break
		}
		in = append(in, r.value(t, of, name, at))
	}
	for _, out := range m.Call(in) {
		switch x := out.Interface().(type) {
		case func():
			x() // a stop
		default:
			if out.Kind() == reflect.Func { // an iterator, whose body may do what a listener may
				yield := reflect.MakeFunc(out.Type().In(0), func([]reflect.Value) []reflect.Value {
					r.listen("iteration")
					return []reflect.Value{reflect.ValueOf(true)}
				})
				out.Call([]reflect.Value{yield})
			}
		}
	}
}

func (r *reentry) value(t *testing.T, of, method string, at reflect.Type) reflect.Value {
	var x any
	switch reflect.Zero(at).Interface().(type) {
	case string:
		x = map[bool]string{true: "limit", false: "p"}[method == "Step" || method == "Keys"]
	case []byte:
		x = map[bool][]byte{true: r.saved, false: []byte(reentered[1])}[method == "Restore"]
	case uint32:
		x = uint32(1)
	case time.Duration:
		x = time.Second
	case breaker.Mode:
		x = breaker.Open
	case pipeline.Policy:
		x = must(policy.Parse("next.yaml", []byte(reentered[1]))).Policies[0].Policy
	case limiter.Config:
		x = limiter.Config{Count: 900, Period: time.Second, Burst: 900}
	case breaker.Config:
		x = breaker.Config{Window: breaker.Consecutive, Count: 2, Probes: 2, Open: backoff.Config{Kind: backoff.Constant, Base: time.Minute}}
	case bulkhead.Config:
		x = bulkhead.Config{Concurrent: 90}
	case sluice.Request:
		x = sluice.Request{Key: "c"}
	}
	switch at {
	case reflect.TypeFor[context.Context]():
		x = context.Background()
		if method == "Watch" { // which lasts as long as its context
			x = gone(t)
		}
	case reflect.TypeFor[sluice.Observer]():
		x = observer{r}
	case reflect.TypeFor[mechanism.Config]():
		x = map[string]mechanism.Config{
			"Handle of a limit": limiter.Config{Count: 5, Period: time.Second, Burst: 5}, "Handle of all keys": limiter.Config{Count: 6, Period: time.Second, Burst: 6},
			"Handle of a breaker":  breaker.Config{Window: breaker.Consecutive, Count: 3, Probes: 1, Open: backoff.Config{Kind: backoff.Constant, Base: time.Minute}},
			"Handle of a bulkhead": bulkhead.Config{Concurrent: 7},
		}[of]
	}
	switch {
	case x != nil:
		return reflect.ValueOf(x)
	case at.Kind() == reflect.Func:
		return reflect.MakeFunc(at, func([]reflect.Value) (out []reflect.Value) {
			for i := range at.NumOut() {
				out = append(out, reflect.Zero(at.Out(i)))
			}
			return out
		})
	}
	return reflect.Zero(at)
}

// blocks reports whether a function waits for a lock while its caller waits for it. The caller
// is the only other goroutine, so what waits for a lock then waits for ever. A bubble does not
// find it: to a bubble a goroutine that waits for a lock is about to go on.
func blocks(call func()) (stack string) {
	var id string
	started, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		first, _, _ := strings.Cut(string(stackOf(false)), " [")
		id = first + " ["
		close(started)
		call()
	}()
	<-started
	for waits := 0; waits < 50; {
		for range 200 {
			select {
			case <-done:
				return ""
			default:
				runtime.Gosched()
			}
		}
		_, state, _ := strings.Cut(string(stackOf(true)), id)
		switch {
		case strings.HasPrefix(state, "sync."):
			waits++
			stack, _, _ = strings.Cut(state, "\n\n")
		case strings.HasPrefix(state, "run"):
			waits = 0
		default: // it waits for time
			<-done
			return ""
		}
	}
	return stack
}

func stackOf(all bool) []byte {
	for buf := make([]byte, 1<<16); ; buf = make([]byte, 2*len(buf)) {
		if n := runtime.Stack(buf, all); n < len(buf) {
			return bytes.Clone(buf[:n])
		}
	}
}

// TestListenersCallEverything is EV2: a listener may call every public method from every event
// of every method.
func TestListenersCallEverything(t *testing.T) {
	var names []string
	bubble(t, func(t *testing.T) {
		for _, m := range newReentry(t, func(string) {}).methods(t) {
			names = append(names, m.name)
		}
	})
	require.Greater(t, len(names), 90)
	emitted, caught := map[string][]string{}, false
	for i, name := range names {
		// What a listener calls changes what comes after it: each kind has a run of its own.
		bubble(t, func(t *testing.T) {
			r := newReentry(t, func(kind string) {
				if !slices.Contains(emitted[name], kind) {
					emitted[name] = append(emitted[name], kind)
				}
			})
			r.methods(t)[i].call()
			synctest.Wait()
		})
		for _, kind := range emitted[name] {
			bubble(t, func(t *testing.T) {
				var r *reentry
				over := false
				r = newReentry(t, func(of string) {
					if over || of != kind {
						return
					}
					over = true
					for _, m := range r.methods(t) {
						stack := blocks(m.call)
						switch {
						case stack == "":
							continue
						case name == "lockedSet.Reload" && strings.HasPrefix(m.name, "lockedSet."):
							caught = true
						default:
							t.Errorf("%s emits %s while it holds a lock: %s of a listener waits for ever:\n%s", name, kind, m.name, stack)
						}
						return
					}
				})
				r.methods(t)[i].call()
				time.Sleep(time.Hour) // what they began is over
			})
		}
	}
	assert.True(t, caught, "the method that emits while it holds a lock is not found")
	for name, kind := range map[string]string{
		"Pipeline.Restore": "evicted", "Set.Reload": "added", "Pipeline.Configure": "configured", "Handle of a breaker.Transition": "change",
		"Handle of a limit.Block": "manual", "Handle of a limit.Drain": "drained", "Handle of a breaker.Configure": "configured",
		"RunWith that fails": "change", "RunWith that is refused": "reject", "RunWith of a new key": "evicted", "Pass.Done": "change", "Breaker.Transition": "change",
		"KeyedLimiter.AllowN of a new key": "evicted", "Limiter.AllowN above its burst": "reject", "Limiter.Drain": "drained", "Limiter.Configure": "configured",
		"Retrier.Do that fails": "retry", "a lease that runs out": "lapse", "RunWith with a hedge": "hedge", "Call": "end", "Pipeline.Keys": "iteration",
	} {
		assert.Contains(t, emitted[name], kind, fmt.Sprint(name, " emits"))
	}
}

func succeeds(context.Context) error { return nil }

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}
