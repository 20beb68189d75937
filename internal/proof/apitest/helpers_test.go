package apitest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/internal/attempt"
)

// TestMain runs the tests in the root folder of the repository, from which they name documents.
func TestMain(m *testing.M) {
	if err := os.Chdir("../../.."); err != nil {
		panic(err)
	}
	m.Run()
}

var errBoom = errors.New("boom")

// document returns the policy p of steps, as in "limit: 5/1s".
func document(steps ...string) []byte {
	return []byte("version: 1\npolicies:\n  p:\n    steps:\n      - " + strings.Join(steps, "\n      - ") + "\n")
}

// guarded returns a pipeline of the steps.
func guarded(t testing.TB, steps []string, options ...sluice.Option) *sluice.Pipeline {
	t.Helper()
	set, err := sluice.Parse("test.yaml", document(steps...), options...)
	require.NoError(t, err)
	return set.Pipeline("p")
}

// quiet discards what a logger would print of panics.
func quiet() sluice.Option { return sluice.WithLogger(slog.New(slog.DiscardHandler)) }

// bubbleBegan is the wall time at which a bubble begins: 2000-01-01 at 00:00 UTC.
const bubbleBegan = 946_684_800 * time.Second

// bubble runs a test in virtual time.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// journal writes down the events of the decision log, and changes and lapses, each a line with its time since the journal began.
type journal struct {
	mu    sync.Mutex
	began clock.Mark
	lines []string
}

func listen(p *sluice.Pipeline) *journal {
	j := &journal{began: attempt.Now()}
	p.Listen(j.note)
	return j
}

func (j *journal) note(e sluice.Event) {
	if !e.Kind.Logged() || e.Kind == decision.Configured {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line(e, e.At.Sub(j.began)))
}

func line(e sluice.Event, at time.Duration) string {
	text := at.String()
	if e.Kind == decision.Change {
		return text + " " + e.Step + " " + e.Mode.String()
	}
	text += " " + e.Kind.String()
	if e.Attempt > 0 {
		text += fmt.Sprint(" ", e.Attempt)
	}
	for _, word := range []string{e.Step, e.Outcome.String(), e.Reason.String(), e.Note} {
		if word != "" {
			text += " " + word
		}
	}
	switch {
	case e.Kind == decision.Retry:
		text += " until " + (at + e.Wait).String()
	case e.Kind == decision.Reject && e.RetryAfter >= 0:
		text += " after " + e.RetryAfter.String()
	}
	if e.Won > 0 {
		text += fmt.Sprint(" won ", e.Won)
	}
	if e.Shadow {
		text += " shadow"
	}
	if e.Soft {
		text += " soft"
	}
	return text
}

// all returns what was written so far.
func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.lines)
}

// take returns all and clears the journal.
func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := j.lines
	j.lines = nil
	return lines
}

// ok, fails and takes are functions to guard.
func ok(context.Context) (int, error) { return 1, nil }

func fails(context.Context) (int, error) { return 0, errBoom }

// takes succeeds after d, or fails at the end of its context.
func takes(d time.Duration) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		return elapse(ctx, d)
	}
}

// elapse succeeds after d, or fails at the end of its context. It makes no timer for
// no time: channel timers that are due at once, received by several goroutines of a
// bubble, crash the race detector (golang/go issue 78156).
func elapse(ctx context.Context, d time.Duration) (int, error) {
	if d <= 0 {
		return 1, nil
	}
	select {
	case <-time.After(d):
		return 1, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// stubborn succeeds after d, whatever its context says.
func stubborn(d time.Duration) func(context.Context) (int, error) {
	return func(context.Context) (int, error) {
		time.Sleep(d)
		return 1, nil
	}
}

// state returns the state of a step.
func state(t testing.TB, p *sluice.Pipeline, step string) sluice.StepState {
	t.Helper()
	for _, s := range p.State() {
		if s.Step == step {
			return s
		}
	}
	t.Fatalf("no step %s", step)
	return sluice.StepState{}
}

// recovered runs f and returns what it panicked with.
func recovered(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

func read(t *testing.T, path string) string {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}
