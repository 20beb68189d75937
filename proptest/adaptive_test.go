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
	held    int // places, before it
	cost    int // places that the attempt has of these
	record  reducer.Action
	at      clock.Mark
	step    aimd
}

// failed reports whether the attempt may lower the limit.
func (e *ending) failed() bool {
	late := e.record.Mark != clock.Always && max(e.at, e.before.Last).Sub(e.record.Mark) > e.config.Over
	return e.record.Outcome == reducer.Fail || e.record.Outcome == reducer.Timeout || e.record.Outcome == reducer.Throttle ||
		e.record.Outcome == reducer.OK && late
}

// timely reports whether the attempt may raise the limit.
func (e *ending) timely() bool { return e.record.Outcome == reducer.OK && !e.failed() }

// drawAdaptive draws a configuration with a limit of a few places.
func drawAdaptive(w uint64) adaptive.Config {
	c := adaptive.Config{
		Minimum: uint32(1 + w%4), Increase: uint32(1 + w>>2%5), Over: time.Duration(1 + w>>5%9),
		Decrease: reducer.Millionths(pick(w>>9, uint32(100_000), 500_000, 333_333, reducer.Whole, 1)),
	}
	c.Initial = c.Minimum + uint32(w>>12%5)
	c.Maximum = c.Initial + uint32(w>>15%12)
	return c
}

// holding is what a call holds.
type holding struct {
	permit reducer.Permit
	cost   int
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
	s := m.Init(now)
	var held []holding
	for _, w := range h.steps() {
		now = now.Add(time.Duration(w % 4))
		if w>>2%8 < 4 {
			cost := uint32(pick(w>>40, 1, 1, 0, 2, 3, 1, int(c.Maximum), int(c.Maximum)+1))
			a := request{config: c, before: m.Clone(s), held: held, cost: max(1, int(cost))}
			a.answer = step(m, &s, reducer.Action{Kind: reducer.Acquire, Cost: cost}, now)
			if err := asks(&a); err != nil {
				return fmt.Errorf("%+v: %d places at %v: %s at %s: %w", c, cost, now, a.answer, m.AppendText(nil, a.before, now), err)
			}
			if a.answer.Verdict == reducer.Admit {
				held = append(held, holding{a.answer.Permit, a.cost})
			}
			continue
		}
		if len(held) == 0 {
			continue
		}
		i := int(w >> 5 % uint64(len(held)))
		e := ending{machine: m, config: c, before: m.Clone(s), held: inUse(held), cost: held[i].cost, at: now, step: step}
		e.record = reducer.Action{Kind: reducer.Record, Permit: held[i].permit, Outcome: pick(w>>16, reducer.OK, reducer.OK, reducer.OK,
			reducer.OK, reducer.Fail, reducer.Throttle, reducer.Timeout, reducer.Ignore, reducer.Cancelled)}
		held = append(held[:i], held[i+1:]...)
		step(m, &s, e.record, now)
		e.after = m.Clone(s)
		if err := check(&e); err != nil {
			return fmt.Errorf("%+v: %v at %v: from %s to %s: %w", c, e.record.Outcome, now,
				m.AppendText(nil, e.before, now), m.AppendText(nil, s, now), err)
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
					used, limit := inUse(a.held), int(a.before.Limit/adaptive.Place)
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
			if a.Kind == reducer.Acquire && uint64(a.Cost) > s.Limit/adaptive.Place {
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
			if e.after.Limit < uint64(e.config.Minimum)*adaptive.Place || e.after.Limit > uint64(e.config.Maximum)*adaptive.Place {
				return fmt.Errorf("from %d to %d places", e.config.Minimum, e.config.Maximum)
			}
			return e.machine.Check(e.after)
		}, "raises the limit above the maximum", afterwards(func(a *reducer.Action, was, s *adaptive.State) {
			if a.Outcome == reducer.OK && s.Limit == was.Limit {
				s.Limit++
			}
		})),
		limited("A2", "the limit does not rise while less than half of it is in use",
			func(e *ending) bool { return uint64(e.held)*2 < e.before.Limit/adaptive.Place },
			func(e *ending) error {
				if e.after.Limit > e.before.Limit {
					return fmt.Errorf("%d in use", e.held)
				}
				return nil
			}, "raises the limit by every success", afterwards(func(a *reducer.Action, was, s *adaptive.State) {
				if a.Outcome == reducer.OK && s.Limit == was.Limit {
					s.Limit++
				}
			})),
		limited("A3", "a failure lowers the limit by its share, once for the attempts admitted before; a timely success raises it and never lowers it; other outcomes change nothing",
			always, func(e *ending) error {
				if want := recountLimit(e); e.after.Limit != want {
					return fmt.Errorf("%d by a recount, not %d", want, e.after.Limit)
				}
				return nil
			}, "lowers the limit for every failure of a round", otherwise(func(a *reducer.Action, now clock.Mark) {
				if a.Outcome == reducer.Fail {
					a.Mark = now
				}
			})),
		limited("A3", "a timely success raises by the part of increase that its places are of the limit, at most by increase",
			func(e *ending) bool {
				return e.timely() && e.cost > 1 && uint64(e.held)*2 >= e.before.Limit/adaptive.Place
			},
			func(e *ending) error {
				want := recountLimit(e)
				if e.after.Limit != want || e.after.Limit-e.before.Limit > uint64(e.config.Increase)*adaptive.Place {
					return fmt.Errorf("%d by a recount, not %d", want, e.after.Limit)
				}
				return nil
			}, "raises the limit by a millionth for a call of several places", afterwards(func(a *reducer.Action, was, s *adaptive.State) {
				if s.Limit > was.Limit && was.InUse()-s.InUse() > 1 {
					s.Limit = was.Limit + 1
				}
			})),
		limited("A9", "had an attempt taken longer, the limit would not be larger",
			func(e *ending) bool { return e.timely() },
			func(e *ending) error {
				for _, longer := range []time.Duration{1, 3, 10} {
					slow := e.machine.Clone(e.before)
					e.step(e.machine, &slow, e.record, max(e.at, e.before.Last).Add(longer))
					if slow.Limit > e.after.Limit {
						return fmt.Errorf("%s after %s more", e.machine.AppendText(nil, slow, e.at), longer)
					}
				}
				return nil
			}, "counts a quick success as a failure", otherwise(func(a *reducer.Action, now clock.Mark) {
				if a.Outcome == reducer.OK && now.Sub(a.Mark) <= 1 {
					a.Outcome = reducer.Fail
				}
			})),
		limited("A10", "a success that took no time, or that began after its end or at no mark, is timely",
			func(e *ending) bool { return e.record.Outcome == reducer.OK },
			func(e *ending) error {
				for _, began := range []clock.Mark{max(e.at, e.before.Last), e.at.Add(1), clock.Never, clock.Always} {
					s, a := e.machine.Clone(e.before), e.record
					a.Mark = began
					if e.step(e.machine, &s, a, e.at); s.Limit < e.before.Limit {
						return fmt.Errorf("%s for one that began at %v", e.machine.AppendText(nil, s, e.at), began)
					}
				}
				return nil
			}, "uses the absolute value of a duration", otherwise(func(a *reducer.Action, now clock.Mark) {
				if a.Outcome == reducer.OK && a.Mark > now {
					a.Outcome = reducer.Fail
				}
			})),
	}
}

// recountLimit is the limit after an attempt's end by the formulas, in exact
// fractions.
func recountLimit(e *ending) uint64 {
	limit := big.NewRat(int64(e.before.Limit), adaptive.Place)
	down := func(r *big.Rat) *big.Rat { // to a whole number
		return new(big.Rat).SetInt(new(big.Int).Quo(r.Num(), r.Denom()))
	}
	switch {
	case e.failed() && e.record.Mark > e.before.Lowered:
		limit = down(limit.Mul(limit, big.NewRat(int64(reducer.Whole-e.config.Decrease.Millionths()), int64(reducer.Whole))))
		if least := big.NewRat(int64(e.config.Minimum), 1); limit.Cmp(least) < 0 {
			limit = least
		}
	case e.timely() && down(limit).Cmp(big.NewRat(int64(2*e.held), 1)) <= 0:
		part := new(big.Rat).Quo(big.NewRat(int64(e.config.Increase)*int64(e.cost)*adaptive.Place, 1), limit)
		if most := big.NewRat(int64(e.config.Increase)*adaptive.Place, 1); part.Cmp(most) > 0 {
			part = most
		}
		limit.Add(limit, new(big.Rat).Quo(down(part), big.NewRat(adaptive.Place, 1)))
		if most := big.NewRat(int64(e.config.Maximum), 1); limit.Cmp(most) > 0 {
			limit = most
		}
	}
	return down(limit.Mul(limit, big.NewRat(adaptive.Place, 1))).Num().Uint64()
}

// exploredAdaptive goes from 1 to 3 places, in nanoseconds.
var exploredAdaptive = adaptive.Config{Initial: 2, Minimum: 1, Maximum: 3, Increase: 1, Decrease: reducer.Percent(50), Over: 1}

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
			Alphabet: append(slices.Clone(asks), record(reducer.OK), record(reducer.Fail), record(reducer.Ignore), act{Kind: reducer.Cancel}, tick)},
		late:  []act{{Kind: reducer.Release}, {Kind: reducer.Cancel}, record(reducer.OK), record(reducer.Fail)},
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
				if places := r.State.Limit / adaptive.Place; places < 1 || places > 3 || r.State.Limit > 3*adaptive.Place || holding > 3 || r.State.InUse() > 3 {
					return fmt.Errorf("%d hold, the limit is %d millionths", holding, r.State.Limit)
				}
				return nil
			}}
		},
			"has a maximum that is one more", instead[state](must(adaptive.New(func() adaptive.Config {
				c := exploredAdaptive
				c.Maximum++
				return c
			}())))},
		{"G2", "Reduce leaves its input as it was", exploredG2[state],
			"reduces in place", reduces(func(c cellOf, s state, a act, now clock.Mark) (state, reducer.Effects) {
				var out reducer.Out
				answer := c.Step(&s, a, now, &out)
				return s, reducer.Effects{Answer: answer, Others: out}
			})},
		{"G3", "a mark before the last one counts as the last one", asked[state](G3),
			"accepts a mark before its last one", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				s.Last = min(s.Last, now)
				return c.Step(s, a, now, out)
			})},
		{"G5", "a tick has no effect", asked[state](G5),
			"records a tick as the mark of a decrease", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				if a.Kind == reducer.Tick {
					s.Last = max(s.Last, now)
					s.Lowered = s.Last
				}
				return c.Step(s, a, now, out)
			})},
		{"G8", "if all marks are shifted by the same time, the decisions are the same", exploredG8[state],
			"does not shift the mark of the last decrease", func(sound cellOf) cellOf {
				return &crooked[state]{Cell: sound, shift: func(c cellOf, s state, by time.Duration) state {
					lowered := s.Lowered
					if s = c.Shift(s, by); by == 24*time.Hour {
						s.Lowered = lowered
					}
					return s
				}}
			}},
		{"G9", "a state that is encoded and decoded is the same, and decides the same afterwards", asked[state](G9),
			"loses the mark of the last decrease when it is restored", func(sound cellOf) cellOf {
				return &crooked[state]{Cell: sound, decode: func(c cellOf, src []byte) (state, error) {
					s, err := c.DecodeState(src)
					s.Lowered = clock.Always
					return s, err
				}}
			}},
		{"G13", "an action that is late, a duplicate or has an unknown permit changes nothing", exploredG13[state],
			"counts a failure without checking the permit", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				answer := c.Step(s, a, now, out)
				if a.Kind == reducer.Record && answer.Verdict == reducer.Stale && a.Outcome == reducer.Fail {
					s.Limit = adaptive.Place
				}
				return answer
			})},
		{"Sound", "after every step Check passes", atStates[state](Sound),
			"records a future mark as that of the last decrease", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				answer := c.Step(s, a, now, out)
				if a.Kind == reducer.Record && a.Outcome == reducer.Fail && answer.Verdict == reducer.Done {
					s.Lowered = s.Last + 1
				}
				return answer
			})},
		{"Twin", "Reduce is Step on a clone", atSteps[state](Twin),
			"reduces a failure to a success", reduces(func(c cellOf, s state, a act, now clock.Mark) (state, reducer.Effects) {
				if a.Outcome == reducer.Fail {
					a.Outcome = reducer.OK
				}
				return c.Reduce(s, a, now)
			})},
	}
	return s
}
