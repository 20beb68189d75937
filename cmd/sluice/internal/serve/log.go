package serve

import (
	"cmp"
	"context"
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/decision"
)

// sparse lets lines of a kind through at most once a second, or once in another time, so
// that an event of every request costs a line a second. The zero value is ready.
type sparse struct {
	every time.Duration // 0 for a second
	mu    sync.Mutex
	next  time.Time
	left  int
}

// due reports whether a line is due, and how many were left out since the last one.
func (s *sparse) due(now time.Time) (left int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Before(s.next) {
		s.left++
		return 0, false
	}
	left, s.left, s.next = s.left, 0, now.Add(cmp.Or(s.every, time.Second))
	return left, true
}

// complaints returns a logger for what net/http complains of. Clients can bring about
// most of it, so it is at most a line a second.
func (s *Server) complaints() *log.Logger { return log.New(&complaints{log: s.log}, "", 0) }

type complaints struct {
	log *slog.Logger
	sparse
}

// Write implements io.Writer: log.Logger writes a line at a time.
func (c *complaints) Write(line []byte) (int, error) {
	if left, ok := c.due(time.Now()); ok {
		c.log.Warn(strings.TrimSpace(string(line)), "others", left)
	}
	return len(line), nil
}

// note logs the events that concern more than one request.
func (s *Server) note(e sluice.Event) {
	switch e.Kind {
	case decision.Change:
		s.changed(e)
	case decision.Full:
		s.log.Warn("a step has all its keys", "policy", e.Policy, "step", e.Step)
	}
}

// changed logs the change of a breaker. Changes of keys are logged at most once a second,
// because clients may choose keys.
func (s *Server) changed(e sluice.Event) {
	attrs := []any{"policy", e.Policy, "step", e.Step, "state", e.Mode.String()}
	if e.Key != "" {
		left, ok := s.keyed.due(time.Now())
		if !ok {
			return
		}
		attrs = append(attrs, "key", e.Key, "others", left)
	}
	if e.By != "" {
		attrs = append(attrs, "by", e.By, "why", e.Why)
	}
	level := slog.LevelInfo
	if e.Mode == breaker.Open || e.Mode == breaker.ForcedOpen {
		level = slog.LevelWarn
	}
	s.log.Log(context.Background(), level, "a breaker changed", attrs...)
}
