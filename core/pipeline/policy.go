package pipeline

import (
	"slices"
	"time"

	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/mechanism"
)

// Kind names the mechanism of a step.
type Kind = mechanism.Kind

// MaxSteps is the most steps of a policy.
const MaxSteps = 16

// A set of steps is a uint16, in calls and in plans.
const _ uint16 = 1<<MaxSteps - 1

// Limits of the number of keys of a step.
const (
	DefaultKeys = keyed.DefaultKeys
	MaxKeys     = keyed.MaxKeys
)

// WhenFull says what a new key gets when a step has its greatest number of keys.
type WhenFull = keyed.WhenFull

// What a new key gets.
const (
	FullEvict = keyed.FullEvict
	FullShare = keyed.FullShare
)

// Missing names what a step does with a call that has no value for an attribute of
// the step.
type Missing = keyed.Missing

// What a call without a value gets.
const (
	MissingShare = keyed.MissingShare
	MissingDeny  = keyed.MissingDeny
	MissingSkip  = keyed.MissingSkip

	MissingDeny401 = keyed.MissingDeny401
	MissingDeny403 = keyed.MissingDeny403
)

// Step is one mechanism of a policy. A copy shares nothing but Per and When.
type Step struct {
	// Config is the mechanism and its settings: a timeout.Config, for example.
	Config mechanism.Config
	// Name is unique in the policy. Decisions, metrics and reconfiguration
	// refer to it. Empty means Mechanism or, without it, the kind's name, then limit-2
	// and so on.
	Name string
	// Shadow decides and enforces nothing.
	Shadow bool
	// Per lists the attributes whose values have a cell each: "key" or, as in
	// "header:x-tenant", whatever the driver offers. Empty: one cell for all.
	Per []string
	// Keys is the greatest number of keys with a cell, 1 to MaxKeys. 0 means
	// DefaultKeys. It needs Per, as WhenFull and Missing do.
	Keys uint32
	// WhenFull says what a new key gets beyond Keys.
	WhenFull WhenFull
	// Missing says what a call without a key gets.
	Missing Missing
	// When is the condition on the calls that the step applies to: others pass it as if
	// it were not there. Without a case: all calls.
	When condition.Condition
	// Enforce is the share of the calls that the step enforces for: for the others it is in
	// shadow. The zero value is all; beside Shadow it is an error.
	Enforce condition.Share
	// Mechanism names the mechanism that the step shares with steps of other policies:
	// in one set they have one state. Empty for a step with a state of its own. At most
	// one step of a policy has the state of a mechanism.
	Mechanism string
}

// Kind returns the mechanism, 0 for a step without a configuration.
func (s Step) Kind() Kind {
	if s.Config == nil {
		return 0
	}
	return s.Config.Kind()
}

// ConfigOf returns the configuration of a step, the zero C when the step is of
// another mechanism.
func ConfigOf[C mechanism.Config](s Step) C {
	c, _ := s.Config.(C)
	return c
}

// Edit changes the configuration of a step. It does nothing when the step is of
// another mechanism.
func Edit[C mechanism.Config](s *Step, change func(*C)) {
	if c, ok := s.Config.(C); ok {
		change(&c)
		s.Config = c
	}
}

// WithEpoch returns the policy with the wall time of mark 0 in the configurations that
// need it and have none. The function is called only where there is one.
func (p Policy) WithEpoch(epoch func() time.Duration) Policy {
	own := false
	for i := range p.Steps {
		dated, ok := p.Steps[i].Config.(mechanism.Dated)
		if !ok {
			continue
		}
		c, changed := dated.WithEpoch(epoch)
		if !changed {
			continue
		}
		if !own {
			p.Steps, own = slices.Clone(p.Steps), true
		}
		p.Steps[i].Config = c
	}
	return p
}

// Policy is a parsed policy: steps, outermost first.
type Policy struct {
	Name     string
	Steps    []Step
	Fallback *fallback.Config
	// Pass says that the policy has no steps on purpose: every call passes, and none
	// waits. Beside steps it is an error; without both the policy is one, too.
	Pass bool
	// Allow is the condition on calls that pass without any step. Without a case: none.
	Allow condition.Condition
	// Deny is the condition on calls that are refused at once, those that Allow matches
	// included. Without a case: none.
	Deny condition.Condition
}
