// Package simulation implements the exports of sim.wasm: an instance simulates one
// scenario, a number of events at a time, so that a page can show its progress and end
// it early. Like package abi it does not depend on wasm.
package simulation

import (
	"math"

	"github.com/sluice-go/sluice/sim/engine"
	"github.com/sluice-go/sluice/sim/report/lanes"
	"github.com/sluice-go/sluice/sim/scenario"
	"github.com/sluice-go/sluice/wasm/abi"
)

// MaxParts is the most parts of a timeline.
const MaxParts = 10_000

// MaxSamples is the most samples of each part and client.
const MaxSamples = 1000

// Over is what Run returns at the end of the scenario.
const Over = 1_000_000

// The bits of the flags of Simulate.
const (
	// FlagSeed: the seed of the parameters holds, in place of the scenario's.
	FlagSeed = 1 << iota
	// FlagLog: the decisions of a client are written.
	FlagLog
	// FlagEvents: the events of that client are written.
	FlagEvents
	// FlagMarks: what requirements of tests count is written, see MarkSize.
	FlagMarks
)

// The outputs of a simulation.
const (
	OutputLog = iota
	OutputEvents
	OutputMarks
	OutputNames
	outputs
)

const (
	// most is how much of an output may wait for the host before Run returns.
	most = 1 << 20
	// slice is how many events happen between two looks at outputs and memory. What it
	// writes fits the buffer many times.
	slice = 256
)

// Simulator is what an instance of sim.wasm holds.
type Simulator struct {
	*abi.Module
	// Full reports whether there is something to collect, Exceeded whether the memory
	// in use exceeds the limit. Both are nil natively.
	Full, Exceeded func() bool

	run     *engine.Simulation
	over    bool
	result  *engine.Result
	outputs [outputs]output
}

// output is what the run has written and the host has not taken yet.
type output []byte

func (o *output) Write(src []byte) (int, error) {
	*o = append(*o, src...)
	return len(src), nil
}

// Simulate prepares the run of a scenario. The buffer holds the name of a client in
// nameSize bytes, which may be none, and the document in JSON: size bytes in all. An
// instance has one run: the collector of its memory takes numbers for addresses, so that
// the many marks of a run would keep the objects of the one before.
func (s *Simulator) Simulate(size, nameSize, flags, seedLow, seedHigh, parts, samples uint32) int32 {
	if int64(size) > int64(len(s.Buffer)) || nameSize > size {
		return s.fail(abi.BadSize, "more bytes than the buffer has")
	}
	if flags >= FlagMarks<<1 || parts > MaxParts || samples > MaxSamples {
		return s.fail(abi.BadArgument, "no such flag, more than 10000 parts or 1000 samples")
	}
	if s.run != nil {
		return s.fail(abi.BadArgument, "an instance simulates one scenario: make another one")
	}
	config, err := scenario.ParseJSON("scenario", s.Buffer[nameSize:size], nil)
	if err != nil {
		return s.fail(abi.BadPolicy, err.Error())
	}
	o := engine.Options{
		Seed: uint64(seedHigh)<<32 | uint64(seedLow), Seeded: flags&FlagSeed != 0,
		Client: string(s.Buffer[:nameSize]), Parts: int(parts), Sample: int(samples),
	}
	if flags&FlagLog != 0 {
		o.Log = &s.outputs[OutputLog]
	}
	if flags&FlagEvents != 0 {
		o.Events = &s.outputs[OutputEvents]
	}
	if flags&FlagMarks != 0 {
		o.Observe = (&marks{outputs: &s.outputs, names: map[string]uint16{}}).observe
	}
	run, err := engine.Start(config, o)
	if err != nil {
		return s.fail(abi.BadArgument, err.Error())
	}
	s.run = run
	return 0
}

// Run simulates at most so many events, fewer where an output is large or memory is to
// be collected. It returns the millionths of the duration that are over, Over at the
// end.
func (s *Simulator) Run(events uint32) int32 {
	if s.run == nil {
		return s.fail(abi.BadHandle, "no scenario")
	}
	if s.Exceeded != nil && s.Exceeded() {
		return s.fail(abi.NoMemory, "the memory of the instance has reached its limit")
	}
	for left := events; left > 0 && !s.over && !s.full(); left -= min(left, slice) {
		s.over = s.run.Advance(int(min(left, slice)))
	}
	if !s.over {
		return int32(min(s.run.Part()*Over, Over-1))
	}
	if s.result == nil {
		// The writers of the options return no error.
		s.result, _ = s.run.Result()
	}
	return Over
}

// full reports whether the host has something to do before the run goes on.
func (s *Simulator) full() bool {
	for i := range s.outputs {
		if len(s.outputs[i]) > most {
			return true
		}
	}
	return s.Full != nil && s.Full()
}

// Take leaves what an output has got since the last time in the buffer and returns its
// size.
func (s *Simulator) Take(kind uint32) int32 {
	if kind >= outputs {
		return s.fail(abi.BadArgument, "no such output")
	}
	code := s.give(s.outputs[kind])
	if code >= 0 {
		s.outputs[kind] = nil
	}
	return code
}

// Result leaves the result as JSON in the buffer and returns its size.
func (s *Simulator) Result() int32 {
	if s.result == nil {
		return s.fail(abi.BadHandle, "the scenario is not over")
	}
	return s.give(s.result.AppendJSON(nil))
}

// Lanes leaves the lanes of the result over time, and its samples, as JSON in the buffer
// and returns its size.
func (s *Simulator) Lanes() int32 {
	if s.result == nil {
		return s.fail(abi.BadHandle, "the scenario is not over")
	}
	return s.give(lanes.DataOf(s.result).AppendJSON(nil))
}

func (s *Simulator) give(src []byte) int32 {
	if code := s.Reserve(uint32(min(len(src), math.MaxInt32))); code < 0 {
		return code
	}
	s.Slots.Size = uint32(copy(s.Buffer, src))
	return int32(s.Slots.Size)
}

func (s *Simulator) fail(code int32, text string) int32 {
	if given := s.give([]byte(text)); given < 0 {
		return given
	}
	return code
}
