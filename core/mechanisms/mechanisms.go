package mechanisms

import (
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
)

// Row returns the row of a mechanism, nil for one that this version does not have.
func Row(k mechanism.Kind) *mechanism.Row {
	switch k {
	case mechanism.Timeout:
		return timeout.Row()
	case mechanism.Retry:
		return retry.Row()
	case mechanism.Breaker:
		return breaker.Row()
	case mechanism.Limit:
		return limiter.Row()
	case mechanism.Bulkhead:
		return bulkhead.Row()
	case mechanism.Hedge:
		return hedge.Row()
	}
	return nil
}

// Docs returns the texts of a mechanism for people, nil for one that this version
// does not have. What needs no texts does not call it, and does not carry them.
func Docs(k mechanism.Kind) *mechanism.Docs {
	switch k {
	case mechanism.Timeout:
		return timeout.Docs()
	case mechanism.Retry:
		return retry.Docs()
	case mechanism.Breaker:
		return breaker.Docs()
	case mechanism.Limit:
		return limiter.Docs()
	case mechanism.Bulkhead:
		return bulkhead.Docs()
	case mechanism.Hedge:
		return hedge.Docs()
	}
	return nil
}
