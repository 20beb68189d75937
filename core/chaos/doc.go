// Package chaos draws what a chaos step injects into an attempt: a result in place of
// the dependency's, latency before the dependency is called, or both.
//
//	s          = the first output of SplitMix64(seed + 2^31)
//	u1, u2, u3 = the first outputs of SplitMix64(s + attempt)
//	result     = fail, throttle or ignore, by the range in which floor(u1 x 10^6 / 2^64) lies
//	latency    = By + floor(u3 x (To - By + 1) / 2^64) where floor(u2 x 10^6 / 2^64) < Slow
//
// seed is the seed of the call, attempt the number of the attempt in the call. The package
// has no state: a seed and an attempt always give the same injection, on all runtimes.
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - D1: the share of a setting is the share of the attempts that get its injection.
//     At 0% no attempt does, at 100% every attempt does.
//   - D2: latency is at least By and at most To.
//   - G1: the injection is a function of the seed and the attempt.
//   - G11: a sum of durations does not overflow.
//
// Sources: Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014
// (SplitMix64); policy/REFERENCE.md#injections.
package chaos
