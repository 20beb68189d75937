// Package hedge starts another attempt of a call while the first one still
// runs, and takes the result of the one that succeeds first.
//
//	next attempt at  admission of the latest attempt + delay
//	delay            After, or the nearest rank of Percentile among the
//	                 durations of the last Samples first attempts of rounds
//
// A first attempt counts where it ended ok, and where it was cancelled because its hedge
// won: then it is known to take longer than it ran. So a hedge after the 95th percentile
// starts for 5 % of the calls.
//
// A round starts at most Max hedges. Each of them asks the budget, if there is
// one, at the mark at which it would start.
//
// Source: Dean, Barroso, The Tail at Scale, 2013; gRFC A6 has the fixed delay.
package hedge
