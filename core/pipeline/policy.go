package pipeline

import (
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
)

// Kind names the mechanism of a step.
type Kind uint8

// The mechanisms, in the order of the list that a step is looked up in.
const (
	Timeout Kind = iota + 1
	Retry
	Breaker
	Limit
	Bulkhead
)

var kindNames = [...]string{"", "timeout", "retry", "breaker", "limit", "bulkhead"}

// String returns the name that the policy document uses.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// MaxSteps is the most steps of a policy.
const MaxSteps = 16

// Step is one mechanism of a policy.
type Step struct {
	Kind Kind
	// Name is unique in the policy. Decisions, metrics and reconfiguration
	// refer to it. Empty means the mechanism's name, then limit-2 and so on.
	Name string
	// Shadow decides and enforces nothing.
	Shadow bool
	// Per lists the attributes whose values have a cell each: "key" or, as in
	// "header:x-tenant", whatever the driver offers. Empty: one cell for all.
	Per []string

	// The settings of the Kind; the others are ignored.
	Timeout  timeout.Config
	Retry    retry.Config
	Breaker  breaker.Config
	Limit    limiter.Config
	Bulkhead bulkhead.Config
}

// Policy is a parsed policy: steps, outermost first.
type Policy struct {
	Name     string
	Steps    []Step
	Fallback *fallback.Config
}
