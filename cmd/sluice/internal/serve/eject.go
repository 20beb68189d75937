package serve

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
)

// Ejection says when an upstream gets no requests for a time.
type Ejection struct {
	// After so many answers in a row that count against an upstream. 0: answers eject
	// no upstream.
	After int
	// For is how long, doubled each time until the upstream was well in between, up to
	// maxEjections times that.
	For time.Duration
	// Percent of the upstreams may be ejected at a time, rounded down.
	Percent int
}

// maxEjections bounds how long an ejection lasts, as a multiple of the first one.
const maxEjections = 10

// The causes for which an upstream is ejected.
const (
	byAnswers = iota
	byProbes
	causes
)

var causeNames = [causes]string{"answers", "probes"}

// cause is what the breaker of a cause said last.
type cause struct {
	failing bool
	at      clock.Mark
}

// upstreamState is what is known of an upstream by its answers and by probes.
type upstreamState struct {
	answers *sluice.Breaker // nil: answers eject nothing
	probes  *sluice.Breaker // nil: there are no probes
	ejected atomic.Bool     // written under the mutex of ejections
	causes  [causes]cause   // guarded by the mutex of ejections
	probed  atomic.Bool     // the probes fail
}

// mayProbe reports whether a request may probe the upstream, which is ejected: not
// while probes of another kind fail.
func (s *upstreamState) mayProbe() bool { return s.answers != nil && !s.probed.Load() }

// ejections decides which upstreams are ejected: those whose breakers are not closed,
// in the order in which they opened, as far as the share of all lets it.
type ejections struct {
	upstreams []*upstream
	most      int
	log       *slog.Logger
	alerts    *alerts // nil for none
	mu        sync.Mutex
	ejected   int
}

// addEjections puts breakers on the upstreams.
func addEjections(c *Config, upstreams []*upstream, a *alerts) error {
	e := &ejections{upstreams: upstreams, most: len(upstreams) * c.Ejection.Percent / 100, log: c.Log, alerts: a}
	for _, u := range upstreams {
		var err error
		if c.Ejection.After > 0 {
			open := backoff.Config{Kind: backoff.Exponential, Base: c.Ejection.For, Factor: 2 * backoff.FactorOne,
				Max: maxEjections * c.Ejection.For}
			if u.state.answers, err = e.breaker(u, byAnswers, uint32(c.Ejection.After), 1, open); err != nil {
				return err
			}
		}
		if c.ProbePath != nil {
			open := backoff.Config{Kind: backoff.Constant, Base: c.ProbeInterval / 2}
			if u.state.probes, err = e.breaker(u, byProbes, failedProbes, goodProbes, open); err != nil {
				return err
			}
		}
	}
	return nil
}

// breaker returns one that opens after so many failures in a row and closes after so
// many successes.
func (e *ejections) breaker(u *upstream, by int, failures, successes uint32, open backoff.Config) (*sluice.Breaker, error) {
	b, err := sluice.NewBreaker(breaker.Config{Window: breaker.Consecutive, Count: failures, Probes: successes, Open: open})
	if err != nil {
		return nil, fmt.Errorf("the ejection of upstreams: %w", err)
	}
	u.state.causes[by].at = clock.Always
	b.Listen(func(event sluice.Event) { e.changed(u, by, event) }, sluice.EventChange)
	return b, nil
}

// changed notes that a breaker of an upstream changed.
func (e *ejections) changed(u *upstream, by int, event sluice.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	of := &u.state.causes[by]
	failing := event.Mode != breaker.Closed
	if event.At < of.at || of.failing == failing {
		return // an older event that came later, or a breaker that is half-open
	}
	of.failing, of.at = failing, event.At
	if by == byProbes {
		u.state.probed.Store(failing)
	}
	switch {
	case failing && !u.state.ejected.Load():
		if !e.eject(u) {
			e.log.Warn("an upstream fails and is not ejected: as many are as --eject-share allows", "upstream", u.name, "by",
				causeNames[by], "ejected", e.ejected, "of", len(e.upstreams))
		}
	case !failing && u.state.ejected.Load() && u.state.cause() == causes:
		u.state.ejected.Store(false)
		e.ejected--
		u.meter.recoveries.Inc()
		e.alerts.ejected(u.name, false, "")
		e.log.Info("an upstream recovered", "upstream", u.name, "ejected", e.ejected, "of", len(e.upstreams))
		for _, other := range e.upstreams {
			if !other.state.ejected.Load() && other.state.cause() != causes {
				e.eject(other)
			}
		}
	}
}

// eject ejects an upstream if another one may be.
func (e *ejections) eject(u *upstream) bool {
	if e.ejected >= e.most {
		return false
	}
	by := causeNames[u.state.cause()]
	u.state.ejected.Store(true)
	e.ejected++
	u.meter.ejections.WithLabelValues(u.name, by).Inc()
	e.alerts.ejected(u.name, true, by)
	e.log.Warn("an upstream is ejected", "upstream", u.name, "by", by, "ejected", e.ejected, "of", len(e.upstreams))
	return true
}

// cause returns the first cause for which the upstream should be ejected, causes for
// none.
func (s *upstreamState) cause() int {
	for by := range s.causes {
		if s.causes[by].failing {
			return by
		}
	}
	return causes
}
