// Package backoff computes how long to wait after the n-th attempt.
//
//	constant      base
//	linear        base x n
//	exponential   base x factor^(n-1)
//	fibonacci     base x 1, 1, 2, 3, 5 ...
//	decorrelated  base + r(min(max, 3 x the delay before) - base)
//	delays        the n-th of a list, the last one from its end on
//
// cut at max, then jitter: full r(d), equal d/2 + r(d - d/2), a share p of d
// d - pd + r(2pd). Here r(n) = floor(u x (n+1) / 2^64) for a random word u, the
// first output of SplitMix64 for a seed. There is no state: the same attempt,
// delay before and word always give the same delay.
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - R2: 0 <= delay <= max x (1 + share) for every attempt up to the greatest;
//     nothing overflows.
//   - R3: the nominal delay never decreases, up to max, except in a list.
//   - R4: jitter stays in its interval, both ends included.
//   - G1: only integers, so every platform computes the same bits.
//
// Sources: Brooker, Exponential Backoff And Jitter, AWS Architecture Blog, 2015
// (full, equal, decorrelated); Steele, Lea, Flood, Fast splittable pseudorandom
// number generators, 2014 (SplitMix64); Lemire, Fast random integer generation
// in an interval, 2019 (the multiplication, without its rejection).
package backoff
