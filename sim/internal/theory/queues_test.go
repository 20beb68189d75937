package theory_test

import (
	"fmt"
	"math"
	"testing"
)

// poisson is a service with Poisson arrivals at a rate and these settings.
func poisson(rate float64, service string) string {
	return hour(fmt.Sprintf(`clients: [{name: web, to: api, arrivals: {poisson: %.0f/1000s}}]
		services: [{name: api, %s}]`, rate*1000, service))
}

// closed is a service with closed users and these settings.
func closed(users int, think, service string) string {
	return hour(fmt.Sprintf(`clients: [{name: web, to: api, arrivals: {closed: {users: %d, think: %s}}}]
		services: [{name: api, %s}]`, users, think, service))
}

// general has the mean wait, latency and number in system of M/G/1, by
// Pollaczek-Khinchine and Little's law.
func general(rate, mean, squares float64) []quantity {
	w := pollaczekKhinchine(rate, mean, squares)
	return []quantity{wait(w), latency(w + mean), inSystem(rate * (w + mean)), utilization(rate * mean)}
}

// delay has the figures of M/M/c.
func delay(c int, rate, mean float64) []quantity {
	w := erlangC(c, rate*mean) * mean / (float64(c) - rate*mean)
	return []quantity{wait(w), latency(w + mean), inSystem(rate * (w + mean)), utilization(rate * mean / float64(c))}
}

func TestQueues(t *testing.T) {
	const ms = 1e-3
	mm1kDropped, mm1kInSystem := loss(0.9, 5)
	broken, rate := repair(20, 1, 1, 60*ms)
	broken3, rate3 := repair(20, 3, 500*ms, 100*ms)
	check(t, []theorem{
		{
			// The latency is exponential: Kleinrock, section 5.7.
			name:     "M/M/1",
			scenario: poisson(20, "time: {exponential: 30ms}"),
			quantities: append(general(20, 30*ms, 2*30*ms*30*ms),
				percentile90(math.Log(10)*30*ms/0.4), percentile99(math.Log(100)*30*ms/0.4)),
		},
		{name: "M/M/5", scenario: poisson(40, "servers: 5, time: {exponential: 95ms}"), quantities: delay(5, 40, 95*ms)},
		{name: "M/D/1", scenario: poisson(20, "time: 35ms"), quantities: general(20, 35*ms, 35*ms*35*ms)},
		{
			name:       "M/G/1 uniform",
			scenario:   poisson(20, "time: {uniform: [10ms, 50ms]}"),
			quantities: general(20, 30*ms, 30*ms*30*ms+40*ms*40*ms/12),
		},
		{
			name:       "M/G/1 Erlang",
			scenario:   poisson(20, "time: {erlang: {mean: 30ms, k: 4}}"),
			quantities: general(20, 30*ms, 30*ms*30*ms*5/4),
		},
		{
			// The mean of a lognormal is median x e^(sigma^2/2), the mean of its square
			// median^2 x e^(2 sigma^2).
			name:       "M/G/1 lognormal",
			scenario:   poisson(20, "time: {lognormal: {median: 20ms, sigma: 0.8}}"),
			quantities: general(20, 20*ms*math.Exp(0.32), 20*ms*20*ms*math.Exp(1.28)),
		},
		{
			name:       "M/G/1 hyperexponential",
			scenario:   poisson(40, "time: {hyperexponential: [[9, 5ms], [1, 55ms]]}"),
			quantities: general(40, 10*ms, 2*(0.9*5*ms*5*ms+0.1*55*ms*55*ms)),
		},
		{
			name:       "M/G/1 Pareto",
			scenario:   poisson(20, "time: {pareto: {scale: 20ms, shape: 5}}"),
			quantities: general(20, 25*ms, 20*ms*20*ms*5/3),
		},
		{
			name:     "M/M/5/5",
			scenario: poisson(20, "servers: 5, queue: 0, time: {exponential: 200ms}"),
			quantities: []quantity{
				dropped(erlangB(5, 4)), failed(erlangB(5, 4)), inSystem(4 * (1 - erlangB(5, 4))), latency(200 * ms),
			},
		},
		{
			// Erlang's formula needs the mean service time alone: Sevastyanov, An
			// ergodic theorem for Markov processes and its application to telephone
			// systems with refusals, 1957.
			name:       "M/G/5/5",
			scenario:   poisson(20, "servers: 5, queue: 0, time: {hyperexponential: [[1, 40ms], [1, 360ms]]}"),
			quantities: []quantity{dropped(erlangB(5, 4)), inSystem(4 * (1 - erlangB(5, 4)))},
		},
		{
			name:       "M/M/1/5",
			scenario:   poisson(30, "queue: 4, time: {exponential: 30ms}"),
			quantities: []quantity{dropped(mm1kDropped), inSystem(mm1kInSystem), latency(mm1kInSystem / 30 / (1 - mm1kDropped))},
		},
		{
			name:       "M/D/1/4",
			scenario:   poisson(30, "queue: 3, time: 30ms"),
			quantities: []quantity{dropped(deterministicLoss(0.9, 4))},
		},
		{
			name:     "machine repair",
			scenario: closed(20, "{exponential: 1s}", "time: {exponential: 60ms}"),
			quantities: []quantity{
				inSystem(broken), goodput(rate), utilization(rate * 60 * ms), latency(broken / rate),
			},
		},
		{
			// The time for which machines work matters by its mean alone: Baskett,
			// Chandy, Muntz and Palacios, Open, closed, and mixed networks of queues with
			// different classes of customers, 1975.
			name:       "machine repair, three repairers, constant think time",
			scenario:   closed(20, "500ms", "servers: 3, time: {exponential: 100ms}"),
			quantities: []quantity{inSystem(broken3), goodput(rate3), latency(broken3 / rate3)},
		},
	})
}

// The formulas themselves, against values that others have computed.
func TestFormulas(t *testing.T) {
	for name, c := range map[string]struct{ got, want float64 }{
		"Erlang B, Kleinrock":                  {erlangB(2, 1), 0.2},
		"Erlang B of one server":               {erlangB(1, 3), 0.75},
		"Erlang C of one server":               {erlangC(1, 0.7), 0.7},
		"Erlang C of two servers":              {erlangC(2, 1), 1.0 / 3},
		"M/D/1/1 is M/M/1/1":                   {deterministicLoss(0.9, 1), 0.9 / 1.9},
		"M/D/1/2: 1 - 1/(e^-rho + rho)":        {deterministicLoss(0.9, 2), 1 - 1/(math.Exp(-0.9)+0.9)},
		"a large M/D/1/k refuses what is more": {deterministicLoss(2, 30), 0.5},
		"at most one of Poisson":               {poissonAtMost(1, 2), 1 - math.Exp(-2)},
		"at most many of Poisson":              {poissonAtMost(100, 2), 2},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	if broken, rate := repair(1, 1, 3, 1); math.Abs(broken-0.25) > 1e-12 || math.Abs(rate-0.25) > 1e-12 {
		t.Errorf("one machine: %v broken, %v a second", broken, rate)
	}
}
