package serve

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"

	"github.com/sluice-go/sluice"
)

// tracer starts and stops the trace of the policies. A nil one has none.
type tracer struct {
	set     *sluice.Set
	options sluice.TraceOptions
	log     *slog.Logger

	mu     sync.Mutex
	active *sluice.Trace     // nil while there is none
	last   sluice.TraceStats // of the trace that was stopped last
	err    error             // with which it ended
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

// handle adds the paths of the admin address: GET /trace for the status, POST /trace/start
// and /trace/stop, which pages of other origins cannot send.
func (t *tracer) handle(mux *http.ServeMux) {
	answer := func(w http.ResponseWriter, code int) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(code)
		// A client that has gone away needs no answer.
		_ = json.NewEncoder(w).Encode(t.status())
	}
	mux.HandleFunc("GET /trace", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK) })
	own := http.NewCrossOriginProtection()
	mux.Handle("POST /trace/start", own.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := t.start(); err != nil {
			t.mu.Lock()
			t.err = err
			t.mu.Unlock()
			answer(w, http.StatusInternalServerError)
			return
		}
		answer(w, http.StatusOK)
	})))
	mux.Handle("POST /trace/stop", own.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		t.stop()
		answer(w, http.StatusOK)
	})))
}
