// Package random has the random numbers of the simulator: a generator, streams that
// are split off by name, and distributions. Equal seeds give equal numbers, bit for
// bit, on every platform and under every compiler: each product is rounded before it
// is added to anything, and logarithm and exponential function are written out here.
//
// The algorithms are part of the format of a scenario's results and do not change:
//
//   - SplitMix64 makes the state of a stream from its seed.
//   - xoshiro256++ makes the words of a stream.
//   - The seed of a stream is the FNV-1a hash (64 bits) of the seed of the scenario in
//     eight bytes, little-endian, then of its name.
//   - An exponential is -ln(u), a normal the first of a pair by the polar method.
//
// Source: Blackman and Vigna, Scrambled linear pseudorandom number generators, 2021
// (xoshiro256++); Steele, Lea and Flood, Fast splittable pseudorandom number
// generators, 2014 (SplitMix64); Marsaglia and Bray, A convenient method for
// generating normal variables, 1964 (the polar method); Walker, An efficient method
// for generating discrete random variables with general distributions, 1977 (Table).
package random
