package budget

import (
	"time"

	"github.com/sluice-go/sluice/reducer"
)

// Rule is what bounds the retries of all calls together.
type Rule uint8

// The rules.
const (
	// Windowed: a ratio of the first attempts of a window, and a minimum.
	Windowed Rule = iota
	// Tokens: a bucket from which every retry takes tokens. An attempt that ends ok
	// returns what it took, or Refund where it took nothing. This is the quota of the
	// AWS SDKs.
	Tokens
	// Throttle: a bucket from which every attempt that fails takes a token, and to
	// which every one that ends ok returns TokenRatio. Retries are granted while it is
	// more than half full. This is the retry throttling of gRPC.
	Throttle
	// Adaptive: a number of retries for each call that follows the share of attempts that
	// fail, the wait of the call, and whether the steps below are full.
	Adaptive
)

// Config is the configuration of a retry budget. The fields of the other rules are zero.
type Config struct {
	// Rule that holds. Default Windowed.
	Rule Rule
	// Ratio of retries to first attempts. At most ten wholes.
	Ratio reducer.Share
	// MinimumCount retries for each MinimumPeriod are always allowed.
	MinimumCount  uint32
	MinimumPeriod time.Duration
	// Window over which both are counted, and under Adaptive how attempts ended, in ten
	// buckets. At least 10 ns.
	Window time.Duration
	// Tokens of a full bucket, with which it begins: 1 to MaxTokens, for Throttle 1 to
	// MaxThrottle. More tokens let more retries follow on a sudden fault.
	Tokens uint32
	// Retry is what a retry or a hedge takes, 1 to Tokens. 0 means DefaultRetry, or Tokens
	// where that is less.
	Retry uint32
	// Timeout is what a retry after a timeout takes, 1 to Tokens. 0 means DefaultTimeout, or
	// Tokens where that is less.
	Timeout uint32
	// Refund is what an attempt returns that took nothing and ends ok, 1 to Tokens. 0
	// means DefaultRefund.
	Refund uint32
	// TokenRatio of a token is what an attempt that ends ok returns under Throttle: 0.1 % to
	// MaxThrottle wholes, in thousandths.
	TokenRatio reducer.Share
	// OneAbove is the share of attempts that failed above which Adaptive grants a call one
	// retry, TwoAbove the lesser one above which it grants two. 0 means DefaultOneAbove
	// and DefaultTwoAbove.
	OneAbove, TwoAbove reducer.Share
	// Wait is the longest wait of an attempt after which Adaptive grants a retry. 0 means
	// DefaultWait.
	Wait time.Duration
}

// Field takes a budget for a draft of a mechanism: whether it is there, and whether the word
// none is in its place, which is nil where that means the same as no budget.
type Field struct {
	*Config
	Given, None *bool
}

// Set says whether a budget is there.
func (f Field) Set(none bool) {
	*f.Given = !none
	if f.None != nil {
		*f.None = none
	}
}

// Absent reports whether neither a budget nor none is there.
func (f Field) Absent() bool { return !*f.Given && (f.None == nil || !*f.None) }
