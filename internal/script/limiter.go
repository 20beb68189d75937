package script

import (
	"testing"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// Limits runs the scripts of limiters in a folder. The words of a configuration are
// rate=, burst=, wait=, queue= and newest, block= and after=, warm= and factor=, and
// algorithm= where it is another one than the algorithm of the folder.
func Limits(t *testing.T, folder string, usual limiter.Algorithm) {
	Run(t, folder, Spec[limiter.State]{
		New: func(a *Args) (reducer.Cell[limiter.State], error) { return limiter.New(Limit(a, usual)) },
		Permit: func(c reducer.Cell[limiter.State], s limiter.State, p reducer.Permit, now clock.Mark) string {
			if at := c.(*limiter.Machine).ReadyAt(&s, p); at > now {
				return ", usable at " + at.String()
			}
			return ""
		},
	})
}

// Limit takes the configuration of a limiter.
func Limit(a *Args, usual limiter.Algorithm) limiter.Config {
	c := limiter.Config{Algorithm: usual}
	if name, ok := a.Text("algorithm"); ok {
		c.Algorithm = Algorithm(name)
	}
	c.Count, c.Period = a.Rate("rate")
	c.Burst = a.Count32("burst", 0)
	c.Wait, c.Queue, c.Order = a.Duration("wait", 0), a.Count32("queue", 0), limiter.Order(a.Count32("order", 0))
	if a.Is("newest") {
		c.Order = limiter.Newest
	}
	c.Block = limiter.Block{For: a.Backoff("block"), After: a.Count32("after", 0)}
	c.WarmUp = limiter.WarmUp{Over: a.Duration("warm", 0), Factor: a.Count32("factor", 0)}
	d := c.WithDefaults()
	c.Block, c.WarmUp = d.Block, d.WarmUp
	return c
}

// Algorithm returns the algorithm with the name, and one that is none for any other
// word.
func Algorithm(name string) limiter.Algorithm {
	a := limiter.TokenBucket
	for a < limiter.Algorithms && a.String() != name {
		a++
	}
	return a
}
