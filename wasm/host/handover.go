package host

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/wasm/abi"
)

// legacy is the state that a pipeline hands over to another one.
type legacy struct {
	keys  keyring
	cells []saved
}

// saved is the state of a cell, by its step and the number of its key.
type saved struct {
	step  int
	key   uint32
	state []byte
}

// errJoined says that a pipeline alone is handed over: others would go on to use the cells.
var errJoined = &Error{Code: abi.BadArgument, Text: "the pipeline is joined to others"}

// Handover gives the state of all cells of p to another pipeline, as a rule of
// another module, whose plan has the same steps and in which nothing has
// happened yet. It returns how many cells there were. A pipeline that is joined to others
// is an error, on either side.
//
// Afterwards p begins no calls. Its running calls end in p, and their places,
// outcomes and refunds only affect p: the bulkheads of the other pipeline start
// empty. On an error p works as before, and the other pipeline must not be used.
func (p *Pipeline) Handover(to *Pipeline, now clock.Mark) (int, error) {
	left, err := p.leave()
	if err != nil {
		return 0, err
	}
	if err := to.inherit(left, now); err != nil {
		p.m.mu.Lock()
		defer p.m.mu.Unlock()
		p.moved, p.keys = false, left.keys
		return 0, err
	}
	return len(left.cells), nil
}

// leave stops the pipeline from beginning calls and returns its state.
func (p *Pipeline) leave() (left legacy, err error) {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	switch {
	case p.moved:
		return left, errMoved
	case len(p.pipelines) > 1:
		return left, errJoined
	}
	for i := range p.plan.steps {
		most := 1
		if len(p.plan.steps[i].Per) > 0 {
			most = max(most, len(p.keys.given))
		}
		for key := range most {
			state, err := p.save(nil, i, uint32(key))
			if err != nil {
				return left, err
			}
			if len(state) > 0 {
				left.cells = append(left.cells, saved{i, uint32(key), state})
			}
		}
	}
	left.keys, p.keys, p.moved = p.keys, keyring{}, true
	return left, nil
}

// inherit loads the states of another pipeline.
func (p *Pipeline) inherit(left legacy, now clock.Mark) error {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	switch {
	case len(p.pipelines) > 1:
		return errJoined
	case len(p.calls) > 0:
		return &Error{Code: abi.BadArgument, Text: "calls have already begun in the new pipeline"}
	}
	p.keys = left.keys
	var decisions []decision.Decision
	for _, c := range left.cells {
		var err error
		if decisions, err = p.load(decisions, c.step, c.key, c.state, 0, now); err != nil {
			return err
		}
	}
	return nil
}
