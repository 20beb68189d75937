package proptest

import (
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/reducer/explore"
)

// The invariants of adaptive limits.

// aimd steps an adaptive limit: as its machine does, or with a defect.
type aimd func(m *adaptive.Machine, s *adaptive.State, a reducer.Action, now clock.Mark) reducer.Answer

func stepped(m *adaptive.Machine, s *adaptive.State, a reducer.Action, now clock.Mark) reducer.Answer {
	return m.Step(s, a, now, nil)
}

// ending is the end of an attempt: its outcome, and the limit before and after it.
type ending struct {
	machine *adaptive.Machine
	config  adaptive.Config
	before  adaptive.State
	after   adaptive.State
	held    int           // places, before it
	cost    int           // places that the attempt has of these
	over    time.Duration // the longest time of a timely one
	round   roundCount    // the outcomes of the round until this one, by a recount
	record  reducer.Action
	at      clock.Mark
	step    aimd
}

// roundCount has the places of outcomes of a round.
type roundCount struct {
	calls           int
	quick, good     int
	late, cut, peak int
}

func (c roundCount) all() int { return c.quick + c.good + c.late + c.cut }
func (c roundCount) bad() int { return c.late + c.cut }

// took is how long the attempt took.
func (e *ending) took() time.Duration {
	if e.record.Mark == clock.Always {
		return 0
	}
	return max(0, max(e.at, e.before.Last).Sub(e.record.Mark))
}

// timely reports whether the attempt ended in time.
func (e *ending) timely() bool { return e.record.Outcome == reducer.OK && e.took() <= e.over }

// counts adds the outcome to the round, and reports whether it says something.
func (e *ending) counts(c *roundCount) bool {
	old := e.record.Generation <= e.before.Round.Grant && e.before.Fall.Last
	switch o := e.record.Outcome; {
	case o == reducer.OK && e.took() <= e.over/2:
		c.quick += e.cost
	case e.timely():
		c.good += e.cost
	case o == reducer.OK && !old:
		c.late += e.cost
	case !old && (o == reducer.Timeout || o == reducer.Throttle || o == reducer.Fail && e.took() >= e.over):
		c.cut += e.cost
	default:
		return false
	}
	c.calls++
	return true
}

// ends reports whether the outcome ends a round.
func (e *ending) ends() bool { return e.after.Round.Grant != e.before.Round.Grant }

// drawAdaptive draws a configuration with a limit of a few places.
func drawAdaptive(w uint64) adaptive.Config {
	c := adaptive.Config{
		Minimum: uint32(1 + w%4), Increase: uint32(1 + w>>2%5), Over: time.Duration(1 + w>>5%9), Tolerance: reducer.Percent(pick(w>>20, uint32(15), 15, 1, 33, 50)),
		Decrease: reducer.Millionths(pick(w>>9, uint32(100_000), 500_000, 333_333, reducer.Whole, 1)),
	}
	c.Initial = c.Minimum + uint32(w>>12%5*(1+w>>30%5))
	c.Maximum = c.Initial + uint32(w>>15%12)
	if w>>24%2 == 0 {
		c.Over, c.OverShare = 0, reducer.Percent(pick(w>>25, uint32(60), 50, 100))
	}
	return c
}

// holding is what a call holds.
type holding struct {
	permit reducer.Permit
	cost   int
	over   time.Duration
}

// inUse is the sum of the costs.
func inUse(all []holding) (places int) {
	for _, h := range all {
		places += h.cost
	}
	return places
}

// request is a call that asks for places, and what it gets.
type request struct {
	config adaptive.Config
	before adaptive.State
	held   []holding
	cost   int // at least 1
	answer reducer.Answer
}

// endings plays a history with a grid of nanoseconds, and passes every end of an
// attempt to the check.
func endings(h history, step aimd, check func(e *ending) error) error {
	return plays(h, step, func(*request) error { return nil }, check)
}

// plays is endings with a check of every call that asks, too.
func plays(h history, step aimd, asks func(a *request) error, check func(e *ending) error) error {
	c := drawAdaptive(h.word(0))
	m := must(adaptive.New(c))
	now := clock.Mark(int64(h.word(1) % 1_000))
	s := reducer.ValuesOf(m).Init(now)
	var held []holding
	var sum roundCount
	for _, word := range h.steps() {
		for k := range uint64(4) { // a round takes more calls than a history has words
			w := word ^ k*0x9E3779B97F4A7C15
			now = now.Add(time.Duration(w % 4))
			if w>>2%8 < 4 {
				cost := uint32(pick(w>>40, 1, 1, 0, 2, 3, 1, int(c.Maximum), int(c.Maximum)+1))
				a := request{config: c, before: reducer.ValuesOf(m).Clone(s), held: held, cost: max(1, int(cost))}
				ask, over := reducer.Action{Kind: reducer.Acquire, Cost: cost}, c.Over
				if c.OverShare.Positive() {
					over = adaptive.DefaultOver
					if w>>50%4 > 0 {
						left := time.Duration(w >> 52 % 16)
						ask, over = ask.WithDeadline(max(now, s.Last).Add(left)), left*time.Duration(c.OverShare.Millionths())/reducer.Whole
					}
				}
				a.answer = step(m, &s, ask, now)
				if err := asks(&a); err != nil {
					return fmt.Errorf("%+v: %d places at %v: %s at %s: %w", c, cost, now, a.answer, m.AppendText(nil, &a.before, now), err)
				}
				if a.answer.Verdict == reducer.Admit {
					if len(held) == 0 && sum.calls == 0 {
						sum = roundCount{}
					}
					held = append(held, holding{a.answer.Permit, a.cost, over})
					sum.peak = max(sum.peak, inUse(held))
				}
				continue
			}
			if len(held) == 0 {
				continue
			}
			i := int(w >> 5 % uint64(len(held)))
			e := ending{machine: m, config: c, before: reducer.ValuesOf(m).Clone(s), held: inUse(held), cost: held[i].cost, over: held[i].over, at: now, step: step}
			e.record = reducer.Action{Kind: reducer.Record, Permit: held[i].permit, Outcome: pick(w>>16, reducer.OK, reducer.OK, reducer.OK,
				reducer.OK, reducer.OK, reducer.Fail, reducer.Throttle, reducer.Timeout, reducer.Ignore, reducer.Cancelled)}
			held = append(held[:i], held[i+1:]...)
			step(m, &s, e.record, now)
			e.after = reducer.ValuesOf(m).Clone(s)
			e.counts(&sum)
			if e.round = sum; e.ends() {
				sum = roundCount{peak: inUse(held)}
			}
			if err := check(&e); err != nil {
				return fmt.Errorf("%+v: %v at %v: from %s to %s: %w", c, e.record.Outcome, now,
					m.AppendText(nil, &e.before, now), m.AppendText(nil, &s, now), err)
			}
		}
	}
	return nil
}

// limited makes a row of a check of every end of an attempt. met reports whether the
// check applies to an end.
func limited(name, statement string, met func(e *ending) bool, holds func(e *ending) error, defect string, mutant aimd) row {
	on := func(name string, cases, size int, shrinks bool, step aimd, enough int) trial {
		return trial{name, func() error {
			n := 0
			err := searched(cases, size, shrinks, func(h history) error {
				return endings(h, step, func(e *ending) error {
					if met(e) {
						n++
						return holds(e)
					}
					return nil
				})
			})
			if err == nil && n < enough {
				err = errRare
			}
			return err
		}}
	}
	return row{name, statement, byProperty, []trial{on("adaptive limit", cases, size, true, stepped, rare)},
		on("adaptive limit that "+defect, mutantCases, mutantSize, false, mutant, 0)}
}

// otherwise is a step that changes the end of an attempt before the limit sees it.
func otherwise(change func(a *reducer.Action, now clock.Mark)) aimd {
	return func(m *adaptive.Machine, s *adaptive.State, a reducer.Action, now clock.Mark) reducer.Answer {
		if a.Kind == reducer.Record {
			change(&a, now)
		}
		return m.Step(s, a, now, nil)
	}
}

// afterwards is a step that changes the limit after an attempt's end.
func afterwards(change func(a *reducer.Action, was, s *adaptive.State)) aimd {
	return func(m *adaptive.Machine, s *adaptive.State, a reducer.Action, now clock.Mark) reducer.Answer {
		was := *s
		answer := m.Step(s, a, now, nil)
		if a.Kind == reducer.Record {
			change(&a, &was, s)
		}
		return answer
	}
}

func always(*ending) bool { return true }

// admits is the row of every call that asks.
func admits() row {
	on := func(name string, cases, size int, shrinks bool, step aimd) trial {
		return trial{name, func() error {
			lone := 0
			err := searched(cases, size, shrinks, func(h history) error {
				return plays(h, step, func(a *request) error {
					used, limit := inUse(a.held), int(a.before.Limit)
					want := reducer.NoReason
					switch {
					case a.cost > int(a.config.Maximum):
						want = reducer.ReasonCapacity
					case used > 0 && used+a.cost > limit:
						want = reducer.ReasonFull
					case a.cost > limit:
						lone++
					}
					if a.answer.Reason != want || (a.answer.Verdict == reducer.Admit) != (want == reducer.NoReason) {
						return fmt.Errorf("%d of %d are in use", used, limit)
					}
					if n := a.before.InUse(); int(n) != used {
						return fmt.Errorf("%d are in use by the state, %d by the calls", n, used)
					}
					return nil
				}, func(*ending) error { return nil })
			})
			if err == nil && lone < rare && shrinks {
				err = errRare
			}
			return err
		}}
	}
	return row{"A11", "a call has as many places as its cost while it runs, and is admitted where they are free, or alone up to the maximum", byProperty,
		[]trial{on("adaptive limit", cases, size, true, stepped)},
		on("adaptive limit that refuses a cost above its limit", mutantCases, mutantSize, false, func(m *adaptive.Machine, s *adaptive.State, a reducer.Action, now clock.Mark) reducer.Answer {
			if a.Kind == reducer.Acquire && a.Cost > s.Limit {
				a.Cost = adaptive.MaxLimit + 1
			}
			return m.Step(s, a, now, nil)
		})}
}

// adaptiveLines are the rows of adaptive limits.
func adaptiveLines() []row {
	return []row{
		admits(),
		limited("A1", "minimum <= limit <= maximum, in every state", always, func(e *ending) error {
			if e.after.Limit < e.config.Minimum || e.after.Limit > e.config.Maximum {
				return fmt.Errorf("from %d to %d places", e.config.Minimum, e.config.Maximum)
			}
			return e.machine.Check(&e.after)
		}, "raises the limit above the maximum", afterwards(func(a *reducer.Action, was, s *adaptive.State) {
			if a.Outcome == reducer.OK && s.Limit == was.Limit {
				s.Limit++
			}
		})),
		limited("A2", "the limit does not rise by a round in which less than half of it was in use at every mark",
			func(e *ending) bool { return e.ends() && e.round.peak*2 < int(e.before.Limit) },
			func(e *ending) error {
				if e.after.Limit > e.before.Limit {
					return fmt.Errorf("%d in use", e.round.peak)
				}
				return nil
			}, "raises the limit by every good round", func(m *adaptive.Machine, s *adaptive.State, a reducer.Action, now clock.Mark) reducer.Answer {
				s.Round.Peak = max(s.Round.Peak, 1<<10)
				return m.Step(s, a, now, nil)
			}),
		limited("A3", "a round of outcomes whose share of late and cut ones is at most the tolerance does not lower the limit; one of which most are cut lowers it by half, or by decrease where that is more; nothing but the end of a round moves it",
			always, func(e *ending) error {
				least, most := recountLimit(e)
				if e.after.Limit < least || e.after.Limit > most {
					return fmt.Errorf("%d to %d by a recount of %+v, not %d", least, most, e.round, e.after.Limit)
				}
				return nil
			}, "counts a failure in time as a cut", otherwise(func(a *reducer.Action, _ clock.Mark) {
				if a.Outcome == reducer.Fail {
					a.Outcome = reducer.Timeout
				}
			})),
		limited("A9", "had an attempt taken longer, the limit would not be larger",
			func(e *ending) bool { return e.timely() || e.record.Outcome == reducer.Fail },
			func(e *ending) error {
				for _, longer := range []time.Duration{1, 3, 10, 100} {
					slow := reducer.ValuesOf(e.machine).Clone(e.before)
					e.step(e.machine, &slow, e.record, max(e.at, e.before.Last).Add(longer))
					if slow.Limit > e.after.Limit {
						return fmt.Errorf("%s after %s more", e.machine.AppendText(nil, &slow, e.at), longer)
					}
				}
				return nil
			}, "counts a quick success as a timeout", otherwise(func(a *reducer.Action, now clock.Mark) {
				if a.Outcome == reducer.OK && now.Sub(a.Mark) <= 1 {
					a.Outcome = reducer.Timeout
				}
			})),
		limited("A10", "a success that took no time, or that began after its end or at no mark, is timely",
			func(e *ending) bool { return e.record.Outcome == reducer.OK },
			func(e *ending) error {
				var limits []uint32
				for _, began := range []clock.Mark{max(e.at, e.before.Last), e.at.Add(1), clock.Never, clock.Always} {
					s, a := reducer.ValuesOf(e.machine).Clone(e.before), e.record
					a.Mark = began
					e.step(e.machine, &s, a, e.at)
					if limits = append(limits, s.Limit); s.Limit != limits[0] || !e.ends() && s.Round.Quick != e.before.Round.Quick+uint32(e.cost) && s.Round.Calls > 0 {
						return fmt.Errorf("%s for one that began at %v", e.machine.AppendText(nil, &s, e.at), began)
					}
				}
				return nil
			}, "uses the absolute value of a duration", otherwise(func(a *reducer.Action, now clock.Mark) {
				if a.Outcome == reducer.OK && a.Mark > now {
					a.Outcome = reducer.Timeout
				}
			})),
		saturated("A12", "with a good answer in ten the limit leaves the minimum, whatever the share of failures that come in time",
			false, func(before, after, minimum uint32, rounds int) error {
				if rounds == 30 && after == minimum {
					return fmt.Errorf("it is %d after %d rounds", after, rounds)
				}
				return nil
			}, "counts a failure in time as a cut", otherwise(func(a *reducer.Action, _ clock.Mark) {
				if a.Outcome == reducer.Fail {
					a.Outcome = reducer.Timeout
				}
			})),
		saturated("A13", "when most outcomes are cuts the limit falls in every round, to the minimum",
			true, func(before, after, minimum uint32, _ int) error {
				if after >= before && after > minimum {
					return fmt.Errorf("from %d to %d", before, after)
				}
				return nil
			}, "gives back a decrease whatever most outcomes are", afterwards(func(_ *reducer.Action, was, s *adaptive.State) {
				if was.Fall.Last && s.Round.Grant != was.Round.Grant {
					s.Limit = was.Fall.Limit
				}
			})),
	}
}

// saturated makes a row of rounds at a limit all of whose places are used: of each ten
// outcomes at least one is good, and the others fail in time; or more than half are cut.
func saturated(name, statement string, cuts bool, holds func(before, after, minimum uint32, rounds int) error, defect string, mutant aimd) row {
	on := func(name string, cases int, shrinks bool, step aimd) trial {
		return trial{name, func() error {
			return searched(cases, size, shrinks, func(h history) error { return saturate(h, step, cuts, holds) })
		}}
	}
	return row{name, statement, byProperty, []trial{on("adaptive limit", cases, true, stepped)}, on("adaptive limit that "+defect, mutantCases, false, mutant)}
}

func saturate(h history, step aimd, cuts bool, holds func(before, after, minimum uint32, rounds int) error) error {
	c := drawAdaptive(h.word(0))
	c.Over, c.OverShare, c.Tolerance = 1_000, reducer.Share{}, reducer.Percent(15)
	c.Maximum = max(c.Maximum, c.Minimum+1)
	if !cuts {
		c.Initial = c.Minimum
	}
	m := must(adaptive.New(c))
	now := clock.Mark(int64(h.word(1) % 1_000))
	s := reducer.ValuesOf(m).Init(now)
	n := uint64(0)
	for rounds := 1; rounds <= 30; {
		var held []reducer.Permit
		for range s.Limit {
			held = append(held, step(m, &s, reducer.Action{Kind: reducer.Acquire}, now).Permit)
		}
		for _, p := range held {
			w := h.word(2+int(n%uint64(max(1, len(h)-2)))) >> (n % 13)
			now = now.Add(time.Duration(w % 5))
			a := reducer.Action{Kind: reducer.Record, Permit: p, Outcome: reducer.OK}
			switch k := n % 10; {
			case cuts && k < 8:
				a.Outcome = reducer.Timeout
			case cuts && w%3 == 0:
				a.Mark = now.Add(-2_000 * time.Nanosecond) // late
			case !cuts && k < 9 && w%16 < 15:
				a.Outcome = reducer.Fail
			}
			n++
			before, grant := s.Limit, s.Round.Grant
			if step(m, &s, a, now); s.Round.Grant == grant {
				continue
			}
			if err := holds(before, s.Limit, c.Minimum, rounds); err != nil {
				return fmt.Errorf("%+v: round %d: %w", c, rounds, err)
			}
			rounds++
		}
		if n > 10_000 {
			return fmt.Errorf("%+v: %d rounds end in %d outcomes", c, rounds, n)
		}
	}
	return nil
}

// recountLimit returns the least and the greatest limit after an attempt's end by the
// formulas, in exact fractions.
func recountLimit(e *ending) (least, most uint32) {
	limit, r := e.before.Limit, e.round
	if !e.ends() {
		return limit, limit
	}
	within := func(limit uint32) uint32 { return min(max(limit, e.config.Minimum), e.config.Maximum) }
	digits := uint32(len(fmt.Sprint(limit)))
	risen := within(limit + max(e.config.Increase, digits-1))
	share := big.NewRat(int64(e.config.Decrease.Millionths()), reducer.Whole)
	if half := big.NewRat(int64(r.bad()), int64(2*r.all())); half.Cmp(share) > 0 {
		share = half
	}
	if most := big.NewRat(1, 2); 2*r.bad() > r.all() && most.Cmp(share) > 0 {
		share = most
	}
	rest := new(big.Rat).Mul(share.Sub(big.NewRat(1, 1), share), big.NewRat(int64(limit), 1))
	lowered := within(uint32(new(big.Int).Quo(rest.Num(), rest.Denom()).Uint64()))
	switch bad := big.NewRat(int64(r.bad()), int64(r.all())); {
	case bad.Cmp(big.NewRat(int64(e.config.Tolerance.Millionths()), reducer.Whole)) <= 0:
		return limit, max(risen, within(limit+limit/2))
	case 2*r.cut > r.all():
		return lowered, lowered
	}
	// By the round before: the decrease comes back, it is held, or the limit falls. A late
	// answer counts for its share of the decrease, or not.
	if e.record.Outcome == reducer.OK {
		lowered = within(uint32(uint64(limit) * uint64(reducer.Whole-e.config.Decrease.Millionths()) / reducer.Whole))
		lowered = min(lowered, within(limit/2))
	}
	return lowered, max(risen, e.before.Fall.Limit, within(limit+limit/2))
}

// exploredAdaptive goes from 1 to 3 places, in nanoseconds.
var exploredAdaptive = adaptive.Config{Initial: 2, Minimum: 1, Maximum: 3, Increase: 1, Decrease: reducer.Percent(50), Tolerance: reducer.Percent(15), Over: 1}

func adaptiveScene(name string, depth int, asks ...reducer.Action) scene[adaptive.State] {
	type (
		state  = adaptive.State
		cellOf = reducer.Cell[state]
		act    = reducer.Action
	)
	record := func(o reducer.Outcome) act { return act{Kind: reducer.Record, Outcome: o} }
	s := scene[state]{
		name: name, depth: depth,
		use: explore.Use[state]{Cell: must(adaptive.New(exploredAdaptive)), Callers: 3,
			New:      "initial=2 minimum=1 maximum=3 decrease=50% over=1ns",
			Alphabet: append(slices.Clone(asks), record(reducer.OK), record(reducer.Timeout), record(reducer.Ignore), act{Kind: reducer.Cancel}, tick)},
		late:  []act{{Kind: reducer.Release}, {Kind: reducer.Cancel}, record(reducer.OK), record(reducer.Timeout)},
		marks: explore.Marks{After: []time.Duration{0, 1, 2}},
		last:  func(s *state) (clock.Mark, bool) { return s.Last, true },
		move:  moveMark,
	}
	s.rules = []ruled[state]{
		{"A1", "minimum <= limit <= maximum, and at most as many places are held as the greatest limit", func(scene[state]) checked[state] {
			return checked[state]{State: func(r room[state], _ clock.Mark) error {
				holding := 0
				for i := range r.Callers {
					if r.Callers[i].Standing == explore.Holds {
						holding++
					}
				}
				if r.State.Limit < 1 || r.State.Limit > 3 || holding > 3 || r.State.InUse() > 3 {
					return fmt.Errorf("%d hold, the limit is %d", holding, r.State.Limit)
				}
				return nil
			}}
		},
			"begins one above the maximum", instead[state](must(adaptive.New(func() adaptive.Config {
				c := exploredAdaptive
				c.Maximum++
				c.Initial = c.Maximum
				return c
			}())))},
		{"G2", "a step of a clone leaves the state as it was", exploredG2[state],
			"shares its memory with its clone", clones(func(_ cellOf, dst, src *state) { *dst = *src })},
		{"G3", "a mark before the last one counts as the last one", asked[state](G3),
			"accepts a mark before its last one", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				s.Last = min(s.Last, now)
				return c.Step(s, a, now, out)
			})},
		{"G5", "a tick has no effect", asked[state](G5),
			"ends a round at a tick", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				if a.Kind == reducer.Tick {
					s.Round = adaptive.Round{Since: s.Last, Grant: s.Serial, Peak: s.InUse()}
				}
				return c.Step(s, a, now, out)
			})},
		{"G8", "if all marks are shifted by the same time, the decisions are the same", exploredG8[state],
			"does not shift the beginning of the round", func(sound cellOf) cellOf {
				return &crooked[state]{Cell: sound, move: func(c cellOf, s *state, by time.Duration) {
					since := s.Round.Since
					if c.Move(s, by); by == 24*time.Hour {
						s.Round.Since = since
					}
				}}
			}},
		{"G9", "a state that is encoded and decoded is the same, and decides the same afterwards", asked[state](G9),
			"loses the round when it is restored", func(sound cellOf) cellOf {
				return &crooked[state]{Cell: sound, decode: func(c cellOf, src []byte, s *state) error {
					err := c.Decode(src, s)
					s.Round = adaptive.Round{Since: s.Last}
					return err
				}}
			}},
		{"G13", "an action that is late, a duplicate or has an unknown permit changes nothing", exploredG13[state],
			"counts a failure without checking the permit", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				answer := c.Step(s, a, now, out)
				if a.Kind == reducer.Record && answer.Verdict == reducer.Stale && a.Outcome == reducer.Timeout {
					s.Limit = 1
				}
				return answer
			})},
		{"Sound", "after every step Check passes", atStates[state](Sound),
			"records a future mark as the beginning of the round", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				answer := c.Step(s, a, now, out)
				if a.Kind == reducer.Record && a.Outcome == reducer.Timeout && answer.Verdict == reducer.Done {
					s.Round.Since = s.Last + 1
				}
				return answer
			})},
		{"Twin", "Reduce is Step on a clone, and a clone between two steps changes nothing", atSteps[state](Twin),
			"loses the round in a clone", clones(func(c cellOf, dst, src *state) {
				c.Clone(dst, src)
				dst.Round = adaptive.Round{Since: dst.Last}
			})},
	}
	return s
}
