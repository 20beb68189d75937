package proptest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/reducer"
)

// firsts are the first attempts of rounds: how long each took, or ran until its hedge won.
type firsts struct {
	took []int
	cut  []bool
}

// percentile is the product limit of Kaplan and Meier, recounted at each duration: of those
// that ran as long, so many ended then.
func (f *firsts) percentile(c hedge.Config) (delay int, known bool) {
	old := max(0, len(f.took)-int(c.Samples))
	took, cut := f.took[old:], f.cut[old:]
	if len(took) < int(c.Minimum) {
		return 0, false
	}
	longest := 0
	for _, d := range took {
		longest = max(longest, d)
	}
	weight, sum := int(reducer.Whole), 0
	for at := range longest {
		above, cuts := 0, 0
		for i, d := range took {
			if d > at {
				above++
			}
			if d != at {
				continue
			}
			if cut[i] {
				cuts++
			} else if sum += weight; sum >= len(took)*int(c.Percentile.Millionths()) {
				return at, true
			}
		}
		for ; cuts > 0; cuts-- {
			weight += weight / (above + cuts - 1)
		}
	}
	return longest, true
}

// ender ends the attempt of a call that wins: the first one, or the hedge, which ran for so long.
type ender func(d *drive.Driver, call decision.Handle, won uint32, ran time.Duration)

func ends(d *drive.Driver, call decision.Handle, won uint32, _ time.Duration) {
	d.Done(call, drive.Result{Outcome: reducer.OK, Attempt: won})
}

// endsWithWinner puts what the winner took in the place of what its call's first attempt had.
func endsWithWinner(d *drive.Driver, call decision.Handle, won uint32, ran time.Duration) {
	before := d.AppendState(nil, 0, 0)
	ends(d, call, won, ran)
	if won > 1 {
		if err := d.Revive(0, 0, before, 0); err != nil {
			panic(err)
		}
		d.Ask(0, 0, reducer.Action{Kind: reducer.Observe, Outcome: reducer.OK, Value: uint64(ran)})
	}
}

// H6: a hedge after a percentile starts after the percentile of the first attempts, attempts
// that lost to their hedge included. It returns how many calls had a hedge.
func H6(end ender) (hedges int, wrong error) {
	for n := range 400 * testenv.Times() {
		random := rand.New(rand.NewPCG(testenv.Seed(), uint64(n)))
		c := hedge.Config{Percentile: reducer.Millionths(1 + random.Uint32N(reducer.Whole)), Samples: 1 + random.Uint32N(20)}
		c.Minimum = 1 + random.Uint32N(c.Samples)
		d := drive.New(must(pipeline.Compile(pipeline.Policy{Steps: []pipeline.Step{{Name: "hedge", Config: c}}})), 0)
		var known firsts
		for i := range 60 {
			began, first, second := d.Now(), random.IntN(12), random.IntN(12)
			call := d.Begin(&drive.Request{Deadline: -1})
			delay, after := known.percentile(c)
			won, took, ran := uint32(1), first, first
			if hedged := after && first >= delay; hedged {
				if hedges++; delay+second < first {
					won, took, ran = 2, delay+second, second
				}
				known.took, known.cut = append(known.took, took), append(known.cut, won > 1)
			} else {
				known.took, known.cut = append(known.took, first), append(known.cut, false)
				delay = -1
			}
			started := -1
			for at := range took + 1 {
				d.Advance(began.Add(time.Duration(at)))
				for _, line := range d.Decisions {
					if line.Kind == decision.Hedge {
						started = at
					}
				}
				d.Decisions = nil
			}
			end(d, call, won, time.Duration(ran))
			if started != delay {
				return hedges, fmt.Errorf("SLUICE_SEED=%d: H6: history %d, p%s: the hedge of call %d starts after %d, not %d, -1 for none; the first attempts took %v, cut %v",
					testenv.Seed(), n, c.Percentile, i, started, delay, known.took, known.cut)
			}
		}
	}
	return hedges, nil
}

func hedgeLines() []row {
	run := func(end ender) func() error {
		return func() error {
			hedges, wrong := H6(end)
			if wrong == nil && hedges < 1_000 {
				return fmt.Errorf("%w: %d hedges", errRare, hedges)
			}
			return wrong
		}
	}
	return []row{{"H6", "a percentile of hedges is that of first attempts, those that lost to their hedge included", byDifference,
		[]trial{{"pipeline with a hedge", run(ends)}}, trial{"pipeline with a hedge that counts the attempts that won", run(endsWithWinner)}}}
}
