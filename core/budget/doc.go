// Package budget bounds the retries of all calls together, so that they do not
// multiply the load on a dependency that fails.
//
//	granted when  retries + 1 <= floor(minimum x window) + floor(ratio x first attempts)
//
// both counted in the present bucket and the nine before it; a bucket is a tenth of
// the window, aligned with the first count of all. The rules Tokens and Throttle count
// in tokens instead, in thousandths:
//
//	Tokens:   granted when  tokens >= cost; an attempt that ends ok returns its cost, or the refund
//	Throttle: granted when  tokens > half of all; a failure takes 1, a success returns the ratio
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - R8: the retries of the last nine to ten tenths of a window are no more than the
//     minimum and the ratio of first attempts at each grant. The rest is never
//     negative.
//   - R12: a bucket of tokens grants the retries that its tokens pay for: never more than
//     a full bucket and what attempts that ended ok returned.
//   - R13: an adaptive budget grants no further attempt beyond the number that the share of
//     failures and the wait of the call allow.
//   - R9: it refuses only new attempts; running ones continue.
//   - R10: a first attempt counts when it starts, a retry when it is granted, and a
//     retry is not a first attempt.
//   - G3: a mark before the latest count counts as its mark.
//   - G17, G18: a peek and a refusal change nothing.
//   - G16: reconfigured, the counts stay; another window starts without counts.
//
// The rule Adaptive counts ends of attempts in the same buckets:
//
//	granted when  further attempts of the call < 0 after a wait of more than Wait, else
//	              1 where failures / ends > OneAbove, 2 where > TwoAbove, else any number
//
// Sources: Finagle's RetryBudget (Twitter, 2016), here in exact integers with
// counts in place of a leaky token bucket; the retry quota of the AWS SDKs' standard mode,
// as in the SDK for JavaScript; gRFC A6 (retry throttling).
package budget
