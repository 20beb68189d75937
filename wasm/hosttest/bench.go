package hosttest

import (
	"testing"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/wasm/host"
)

// BenchmarkCompile measures the start of a runtime: the compilation, and an
// instance of the compiled module. compile releases what it compiled.
func BenchmarkCompile(b *testing.B, compile func() error, open func() (*host.Module, error)) {
	b.Run("compile", func(b *testing.B) {
		for b.Loop() {
			if err := compile(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("instance", func(b *testing.B) {
		for b.Loop() {
			m, err := open()
			if err != nil {
				b.Fatal(err)
			}
			m.Close()
		}
	})
}

// benched is the policy of six steps that calls are decided by.
const benched = `{"steps":[{"timeout":"30s"},{"retry":3},{"breaker":{}},{"limit":"1000/1s"},{"bulkhead":50},{"timeout":"10s"}]}`

// Benchmark measures a module beside the native core. One operation is
//
//	allow  a token bucket that admits
//	call   a call of a policy of six steps, begun and done
//	event  one of a batch of 1,000 of such calls' 2,000 events
func Benchmark(b *testing.B, open func() (*host.Module, error)) {
	m, err := open()
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	rate := limiter.Config{Count: 1000, Period: 1e9}
	b.Run("allow/native", func(b *testing.B) {
		k, err := limiter.Cells(rate)
		if err != nil {
			b.Fatal(err)
		}
		c, now := k.New(0), clock.Mark(0)
		b.ReportAllocs()
		for b.Loop() {
			now += 1e6
			if _, ok := c.Enter(1, 0, clock.Never, now); !ok {
				b.Fatal("refused")
			}
		}
	})
	b.Run("allow/module", func(b *testing.B) {
		k, err := m.Limiter(rate)
		if err != nil {
			b.Fatal(err)
		}
		c, err := k.Cell(0)
		if err != nil {
			b.Fatal(err)
		}
		now := clock.Mark(0)
		b.ReportAllocs()
		for b.Loop() {
			now += 1e6
			if ok, err := c.Allow(1, now); !ok || err != nil {
				b.Fatal(ok, err)
			}
		}
	})
	done := host.Result{Outcome: reducer.OK}
	b.Run("call/native", func(b *testing.B) {
		p, err := document.ParseOneJSON("policy", []byte(benched))
		if err != nil {
			b.Fatal(err)
		}
		plan, err := pipeline.Compile(p.Policy)
		if err != nil {
			b.Fatal(err)
		}
		d, now := drive.New(plan, 0), clock.Mark(0)
		b.ReportAllocs()
		for b.Loop() {
			now += 1e6
			d.Advance(now)
			if h := d.Begin(&drive.Request{Cost: 1, Deadline: -1}); !d.Done(h, drive.Result{Outcome: reducer.OK}) {
				b.Fatal("stale")
			}
			d.Decisions = d.Decisions[:0]
		}
	})
	plan, err := m.Body([]byte(benched))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("call/module", func(b *testing.B) {
		p, err := m.Pipeline(plan, 0)
		if err != nil {
			b.Fatal(err)
		}
		var list []decision.Decision
		now := clock.Mark(0)
		b.ReportAllocs()
		for b.Loop() {
			now += 1e6
			h, decisions, err := p.Begin(list[:0], host.Request{Cost: 1, Deadline: -1}, now)
			if err != nil {
				b.Fatal(err)
			}
			if list, err = p.Done(decisions, h, done, now); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("event/module", func(b *testing.B) {
		p, err := m.Pipeline(plan, 0)
		if err != nil {
			b.Fatal(err)
		}
		events := make([]host.Event, 2000)
		var list []decision.Decision
		now := clock.Mark(0)
		b.ReportAllocs()
		for n := len(events); b.Loop(); n++ {
			if n < len(events) {
				continue
			}
			n = 0
			for i := range events {
				if i%2 == 0 {
					now += 1e6
					events[i] = host.Event{Op: host.Begin, At: now, Request: host.Request{Cost: 1, Deadline: -1}}
				} else {
					events[i] = host.Event{Op: host.Done, At: now, Of: i, Result: done}
				}
			}
			if list, err = p.Batch(list[:0], events); err != nil || len(list) != len(events) {
				b.Fatal(len(list), err)
			}
		}
	})
}
