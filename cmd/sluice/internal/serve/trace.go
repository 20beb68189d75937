package serve

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-go/sluice"
)

// tracer starts and stops the trace of the policies. A nil one has none.
type tracer struct {
	set     *sluice.Set
	options sluice.TraceOptions
	log     *slog.Logger

	mu      sync.Mutex
	active  *sluice.Trace     // nil while there is none
	last    sluice.TraceStats // of the trace that was stopped last
	err     error             // with which it ended
	earlier sluice.TraceStats // the sums of the traces that were stopped
	told    uint64            // lost lines that the log has
	losses  sparse            // lines about them
}

// newTracer returns a tracer that has not started.
func newTracer(set *sluice.Set, c *Config, registry prometheus.Registerer) *tracer {
	t := &tracer{set: set, options: c.Trace, log: c.Log, losses: sparse{every: lostEvery}}
	for name, help := range map[string]string{"calls": "Calls that are missing in the trace altogether.",
		"lines": "Lines that are missing in the trace of other calls."} {
		registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "sluice", Subsystem: "trace",
			Name: "lost_" + name + "_total", Help: help}, func() float64 {
			all := t.all()
			if name == "calls" {
				return float64(all.LostCalls)
			}
			return float64(all.LostLines)
		}))
	}
	return t
}

// all returns the sums of all traces so far.
func (t *tracer) all() sluice.TraceStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.earlier
	if t.active != nil {
		all = sum(all, t.active.Stats())
	}
	return all
}

func sum(a, b sluice.TraceStats) sluice.TraceStats {
	a.Calls, a.Lines, a.LostCalls, a.LostLines = a.Calls+b.Calls, a.Lines+b.Lines, a.LostCalls+b.LostCalls, a.LostLines+b.LostLines
	return a
}

// look has the log say that calls or lines are lost. A nil tracer loses none.
func (t *tracer) look() {
	if t == nil {
		return
	}
	all := t.all()
	lost := all.LostCalls + all.LostLines
	if lost == t.told {
		return
	}
	if _, ok := t.losses.due(time.Now()); !ok {
		return
	}
	t.told = lost
	attrs := []any{"file", t.options.File, "lost_calls", all.LostCalls, "lost_lines", all.LostLines}
	if s := t.status(); s.Error != "" {
		attrs = append(attrs, "error", s.Error)
	}
	t.log.Error("calls are missing in the trace", attrs...)
}

// start starts a trace, unless one is active.
func (t *tracer) start() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.active != nil {
		return nil
	}
	trace, err := t.set.Trace(t.options)
	if err != nil {
		return err
	}
	t.active, t.err = trace, nil
	t.log.Info("requests are traced", "file", t.options.File)
	return nil
}

// stop stops the trace, if one is active.
func (t *tracer) stop() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.active == nil {
		return
	}
	t.err = t.active.Stop()
	t.last, t.active = t.active.Stats(), nil
	t.earlier = sum(t.earlier, t.last)
	if t.err != nil {
		t.log.Error("the trace is not complete", "file", t.options.File, "error", t.err)
		return
	}
	t.log.Info("requests are no longer traced", "file", t.options.File, "calls", t.last.Calls, "lost", t.last.LostCalls)
}

// traceStatus is the answer of /trace.
type traceStatus struct {
	Active    bool   `json:"active"`
	File      string `json:"file"`
	Calls     uint64 `json:"calls"`
	Lines     uint64 `json:"lines"`
	LostCalls uint64 `json:"lost_calls"`
	LostLines uint64 `json:"lost_lines"`
	Error     string `json:"error,omitempty"`
}

func (t *tracer) status() traceStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := traceStatus{Active: t.active != nil, File: t.options.File}
	stats, err := t.last, t.err
	if t.active != nil {
		stats, err = t.active.Stats(), t.active.Err()
	}
	s.Calls, s.Lines, s.LostCalls, s.LostLines = stats.Calls, stats.Lines, stats.LostCalls, stats.LostLines
	if err != nil {
		s.Error = err.Error()
	}
	return s
}

// handle adds the paths of the admin address: GET /trace for the status, and POST
// /trace/start and /trace/stop, which need a token as all changes do, and which pages of other
// origins cannot send. Without an operator there are no changes.
func (t *tracer) handle(mux *http.ServeMux, o *operator) {
	answer := func(w http.ResponseWriter, code int) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(code)
		// A client that has gone away needs no answer.
		_ = json.NewEncoder(w).Encode(t.status())
	}
	mux.HandleFunc("GET /trace", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK) })
	if o == nil {
		return
	}
	own := http.NewCrossOriginProtection()
	change := func(path string, serve http.HandlerFunc) {
		mux.Handle("POST "+path, own.Handler(o.authorized(func(w http.ResponseWriter, r *http.Request, who string) {
			t.log.Info("the trace is changed by hand", "path", path, "by", who, "peer", r.RemoteAddr)
			serve(w, r)
		})))
	}
	change("/trace/start", func(w http.ResponseWriter, _ *http.Request) {
		if err := t.start(); err != nil {
			t.mu.Lock()
			t.err = err
			t.mu.Unlock()
			answer(w, http.StatusInternalServerError)
			return
		}
		answer(w, http.StatusOK)
	})
	change("/trace/stop", func(w http.ResponseWriter, _ *http.Request) {
		t.stop()
		answer(w, http.StatusOK)
	})
}
