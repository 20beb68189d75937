package runner

import (
	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/recording"
)

// Trace has the calls that begin from now on recorded, until Untrace. It returns false, and
// does nothing, where they are recorded already. began says that the recorder has begun.
func (p *Pipeline) Trace(r *recording.Recorder, began bool) bool {
	p.mechanisms.mu.Lock()
	defer p.mechanisms.mu.Unlock()
	if p.Traced() {
		return false
	}
	pipe := r.Add(p.layout.Load().plan, pipeline.Seed(p.Seed, p.numbers.Load()), began)
	p.Listeners.change(func(to *listening) { to.trace = pipe })
	return true
}

// Untrace ends what Trace began with a recorder.
func (p *Pipeline) Untrace(r *recording.Recorder) {
	p.Listeners.change(func(to *listening) {
		if to.trace.Of(r) {
			to.trace = nil
		}
	})
}

// Traced reports whether calls are recorded.
func (p *Pipeline) Traced() bool { return p.trace() != nil }

// trace returns where calls are recorded, nil for nowhere.
func (p *Pipeline) trace() *recording.Pipe {
	if to := p.list.Load(); to != nil {
		return to.trace
	}
	return nil
}

// record records the beginning of a call, where calls are recorded. It calls code of the
// user, so the caller holds no lock.
func (p *Pipeline) record(plan *pipeline.Plan, q *api.Request, now, deadline clock.Mark) *recording.Call {
	pipe := p.trace()
	if pipe == nil {
		return nil
	}
	return pipe.Begin(now, deadline, plan.Random(), q.Key, cost(q), attributes(q))
}
