package proptest

import (
	"fmt"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/commands"
	"github.com/leanovate/gopter/gen"
)

// The command tests: gopter draws commands, runs them on a machine and on an oracle,
// which is simple and slow, and shrinks the commands on which the two differ.

// oracle is the state that a command test expects. A command returns a new one and
// does not change it.
type oracle interface {
	// w is the word of the configuration.
	w() uint64
	// do returns the oracle after the command, and the answer of the command.
	do(c command) (oracle, string)
}

// tested is what the commands run on.
type tested interface {
	do(c command) string
}

// command is what gopter draws. Each mechanism gives the fields their meaning; a
// command that does not apply answers "nothing".
type command struct {
	verb   string
	number uint64
	choice int
}

// expected is an oracle with its last answer.
type expected struct {
	oracle oracle
	answer string
}

func (e expected) String() string { return fmt.Sprintf("%#x", e.oracle.w()) }

// Run implements commands.Command.
func (c command) Run(sut commands.SystemUnderTest) commands.Result { return sut.(tested).do(c) }

// NextState implements commands.Command.
func (c command) NextState(state commands.State) commands.State {
	next, answer := state.(expected).oracle.do(c)
	return expected{next, answer}
}

// PreCondition implements commands.Command.
func (c command) PreCondition(commands.State) bool { return true }

// PostCondition implements commands.Command: the answers are equal.
func (c command) PostCondition(state commands.State, result commands.Result) *gopter.PropResult {
	if want := state.(expected).answer; want != result.(string) {
		return gopter.NewPropResult(false, fmt.Sprintf("%s: expected %q, got %q", c, want, result))
	}
	return gopter.NewPropResult(true, "")
}

func (c command) String() string { return fmt.Sprintf("%s %d/%d", c.verb, c.number, c.choice) }

// suite is a command test of one mechanism.
type suite struct {
	verbs []string
	// begin makes the oracle of a configuration word.
	begin func(w uint64) oracle
	// make makes the tested machine from the same word; a trial sets it.
	make func(w uint64) tested
}

func (s suite) prop() gopter.Prop {
	words := gen.UInt64().Map(func(w uint64) expected { return expected{oracle: s.begin(w)} })
	verb := make([]any, len(s.verbs))
	for i, v := range s.verbs {
		verb[i] = v
	}
	drawn := gopter.CombineGens(gen.OneConstOf(verb...), gen.UInt64(), gen.IntRange(0, 63)).Map(func(all []any) command {
		return command{all[0].(string), all[1].(uint64), all[2].(int)}
	})
	return commands.Prop(&commands.ProtoCommands{
		InitialStateGen: words.WithShrinker(gopter.NoShrinker),
		NewSystemUnderTestFunc: func(state commands.State) commands.SystemUnderTest {
			return s.make(state.(expected).oracle.w())
		},
		GenCommandFunc: func(commands.State) gopter.Gen { return drawn },
	})
}

// trial makes a trial of the suite for something to test.
func (s suite) trial(name string, cases, size int, what func(w uint64) tested) trial {
	return trial{name, func() error {
		s.make = what
		return judged(s.prop().Check(parameters(cases, size)))
	}}
}

// mutant is trial for a machine with a defect, whose failure is not shrunk.
func (s suite) mutant(name string, what func(w uint64) tested) trial {
	return trial{name, func() error {
		s.make = what
		p := parameters(500, 60)
		p.MaxShrinkCount = 0
		return judged(s.prop().Check(p))
	}}
}

// commandLines compare every mechanism as a whole with its oracle.
func commandLines() []row {
	return []row{limiterLine(), breakerLine(), retryLine(), bulkheadLine(), pipelineLine()}
}

var _ commands.Command = command{}
