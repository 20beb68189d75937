// Package tokenbucket limits a rate and allows bursts: permits come one after another
// at an even interval, and up to a burst of unused ones stay available.
//
// It is kept as the generic cell rate algorithm: one mark, the theoretical
// arrival time TAT, says when the bucket will be full again. With the interval
// T = period / count, rounded up to a whole nanosecond, a cost c is admitted at
// t when
//
//	c <= burst  and  TAT - t <= (burst - c) x T
//
// and moves TAT to max(TAT, t) + c x T. The bucket starts full.
//
// A permit is refunded by its own record V: TAT + R after its grant, R being the sum
// of all refunds. A grant raises TAT + R and a refund leaves it, so that the
// difference to V is what others have taken since. At the mark of the grant a refund
// returns all of a permit; at a later t it returns min(c x T, max(0, V - R - t)),
// which has neither refilled since nor been used by others. While there are later
// reservations, it returns at most what none of them depends on.
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - L1: any window of length W admits at most burst + W/T, refunds included.
//   - L2: a refusal's mark is exact: refused before it, admitted at it.
//   - L3: a refusal changes nothing.
//   - L4: 0 <= free <= burst; only reservations and use beyond a cost (Settle) go
//     into debt.
//   - L5: a cost is taken whole or not at all. Cost 0 passes and takes nothing.
//   - L6: a cost above the burst is refused for good, with its own reason.
//   - L7: the token bucket and the leaky bucket as a meter keep this same mark.
//   - L11: a permit may be used at the mark at which it refills.
//   - L13: refunded at its own mark, a permit leaves no trace; a later refund returns
//     at most what was taken, and no window exceeds its bound.
//   - L16: after a long idle time exactly the burst is free.
//   - G3: a decision by TAT alone is never looser at an old mark.
//   - G11: near the end of the line a debt stays there; nothing overflows.
//   - G16: reconfigured, the free permits stay, at most the new burst, or the debt.
//   - L20: the part of the next permit that has refilled stays, as a share of the
//     interval, so that a rate which is changed again and again admits as much as its
//     least one.
//
// Sources: ITU-T I.371 and ATM Forum TM 4.1 (GCRA, virtual scheduling); Turner, New
// directions in communications, 1986 (leaky bucket). The rule of refunds is Sluice's
// own; peers that differ are golang.org/x/time/rate (golang/go#69419) and governor,
// which refunds nothing.
package tokenbucket
