package sluice_test

import (
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
)

// breakerConfig opens at two failures in a row, for a minute.
func breakerConfig() breaker.Config {
	return breaker.Config{Window: breaker.Consecutive, Count: 2, Probes: 1, Open: backoff.Config{Kind: backoff.Constant, Base: time.Minute}}
}

func places(n, queue uint32) bulkhead.Config { return bulkhead.Config{Concurrent: n, Queue: queue} }

func rate(count uint32, period time.Duration) limiter.Config {
	return limiter.Config{Count: count, Period: period}
}
