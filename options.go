package sluice

import (
	"crypto/rand"
	"encoding/binary"
	"log/slog"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/internal/runner"
	"github.com/sluice-go/sluice/reducer"
)

// DefaultMaxKeys is how many cells a step with `per` keeps at the most.
const DefaultMaxKeys = 100_000

// Option changes how a runner runs. Options never change decisions.
type Option func(*settings)

// settings are shared by all that one constructor makes. They are immutable.
type settings struct {
	runner.Settings
	logger   *slog.Logger
	classify func(error) reducer.Outcome
}

func newSettings(options []Option) *settings {
	s := &settings{Settings: runner.Settings{MaxKeys: DefaultMaxKeys}}
	s.API = s
	var word [8]byte
	// After an error the seed is 0: jitter is then identical across processes,
	// which is not fatal.
	_, _ = rand.Read(word[:])
	s.Seed = binary.LittleEndian.Uint64(word[:])
	for _, option := range options {
		option(s)
	}
	return s
}

// WithClock takes marks from the source instead of the machine's monotonic
// clock. The source must not panic or call back into the mechanism. Waits still
// sleep in real time for as long as the marks say, so a test of waits uses
// testing/synctest rather than a virtual source.
func WithClock(source clock.Source) Option { return func(s *settings) { s.Source = source } }

// WithSeed fixes the seed of all jitter. Default: drawn at the start.
func WithSeed(seed uint64) Option { return func(s *settings) { s.Seed = seed } }

// WithLogger logs every event that is not an admission at level debug, changes
// of breakers at level warn. Default: none.
func WithLogger(logger *slog.Logger) Option { return func(s *settings) { s.logger = logger } }

// WithClassify says what an error of the guarded function means: Fail is
// retried and votes, Throttle is retried and does not vote, Ignore neither, OK
// is a success. An error that is an Outcomer speaks for itself. Default: every
// error is Fail.
func WithClassify(f func(error) reducer.Outcome) Option {
	return func(s *settings) { s.classify = f }
}

// WithMaxKeys bounds the cells of a step with `per`. Above it new keys share
// one cell: of a token bucket or a bulkhead each has at most what it would have
// had alone; a window that they share begins with the first of them, and a
// breaker hears the outcomes of all. Default DefaultMaxKeys; values below 1
// count as 1.
func WithMaxKeys(n int) Option { return func(s *settings) { s.MaxKeys = max(1, n) } }

// WithRefuseLate gives up the value of a function that succeeds after a timeout
// has cut it, and returns the TimeoutError. Default: the value is returned,
// because it is there; breakers count the timeout either way.
func WithRefuseLate() Option { return func(s *settings) { s.RefuseLate = true } }
