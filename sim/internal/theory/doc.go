// Package theory holds the tests of the simulator against results that are known
// without it: queueing theory, the arithmetic of limits, retries and hedges, and
// published experiments. Each case cites its source.
//
// A case of queues, limits, retries, timeouts or hedges runs an hour of virtual time
// under the seeds 1 to 30. The mean of each quantity must be within three standard
// errors and within 2 % of theory, and three standard errors must be less than 2 %.
// Each case has a mutant, a scenario that is slightly different, on which the check of at
// least one quantity must fail.
//
// Its other tests check properties of random scenarios: Little's law, conservation of
// calls and requests, independent random streams, equal bytes for equal seeds, and
// that eval decides the events of a run as the run did.
package theory
