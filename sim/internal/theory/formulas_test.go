package theory_test

import "math"

// erlangB returns the probability that a request finds all c servers busy where none
// waits, under the offered load a.
//
// Source: Erlang, Solution of some problems in the theory of probabilities of
// significance in automatic telephone exchanges, 1917; the recursion is from
// Kleinrock, Queueing Systems, volume 1, 1975, section 3.6.
func erlangB(c int, a float64) float64 {
	b := 1.0
	for n := 1; n <= c; n++ {
		b = a * b / (float64(n) + a*b)
	}
	return b
}

// erlangC returns the probability that a request waits for one of c servers.
//
// Source: the same, section 3.4 of Kleinrock.
func erlangC(c int, a float64) float64 {
	b := erlangB(c, a)
	return b / (1 - a/float64(c)*(1-b))
}

// pollaczekKhinchine returns the mean wait for one server: rate x E[S^2] / (2 (1 - rho)).
//
// Source: Pollaczek, Über eine Aufgabe der Wahrscheinlichkeitstheorie, 1930;
// Khinchine, Mathematical theory of a stationary queue, 1932; Kleinrock, section 5.6.
func pollaczekKhinchine(rate, mean, squares float64) float64 {
	return rate * squares / (2 * (1 - rate*mean))
}

// loss returns the probability that k requests are in the system M/M/1/k, and their
// mean number.
//
// Source: Kleinrock, section 3.6.
func loss(rho float64, k int) (full, inSystem float64) {
	sum, power := 0.0, 1.0
	for n := 0; n <= k; n++ {
		sum += power
		inSystem += float64(n) * power
		full = power
		power *= rho
	}
	return full / sum, inSystem / sum
}

// deterministicLoss returns the probability that a request finds k in the system
// M/D/1/k: the chain of the numbers that departing requests leave behind.
//
// Source: Gross, Shortle, Thompson and Harris, Fundamentals of Queueing Theory, 4th
// edition, 2008, section 5.1.8 (M/G/1/K).
func deterministicLoss(rho float64, k int) float64 {
	// Arrivals during a service are Poisson with the mean rho.
	arrivals := make([]float64, k+1)
	arrivals[0] = math.Exp(-rho)
	for n := 1; n <= k; n++ {
		arrivals[n] = arrivals[n-1] * rho / float64(n)
	}
	// The weight of each state follows from the balance of the one below it.
	weight := make([]float64, k)
	weight[0] = 1
	sum := 1.0
	for n := 0; n+1 < k; n++ {
		next := weight[n] - weight[0]*arrivals[n]
		for i := 1; i <= n; i++ {
			next -= weight[i] * arrivals[n-i+1]
		}
		weight[n+1] = next / arrivals[0]
		sum += weight[n+1]
	}
	return 1 - 1/(weight[0]/sum+rho)
}

// repair returns the mean number of n machines that are broken, and how many a second
// break, where a machine works for the mean think and each of c repairers needs the
// mean time.
//
// Source: Palm, The distribution of repairmen in servicing automatic machines, 1947;
// Kleinrock, section 3.8.
func repair(n, c int, think, time float64) (broken, rate float64) {
	weight, sum, working := 1.0, 1.0, float64(n)
	for k := 1; k <= n; k++ {
		weight *= float64(n-k+1) / float64(min(k, c)) * time / think
		sum += weight
		broken += float64(k) * weight
		working += float64(n-k) * weight
	}
	return broken / sum, working / sum / think
}

// poissonAtMost returns the mean of the lesser of n and a Poisson number.
func poissonAtMost(n int, mean float64) float64 {
	p, least, below := math.Exp(-mean), 0.0, 0.0
	for k := 0; k < n; k++ {
		least += float64(k) * p
		below += p
		p *= mean / float64(k+1)
	}
	return least + float64(n)*(1-below)
}
