package limiter

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/assert"
	"github.com/sluice-go/sluice/core/slidinglog"
	"github.com/sluice-go/sluice/reducer"
)

// version differs for two states of which one came from the other by a change.
type version struct {
	count   count
	log     slidinglog.Version
	warming warming
	tickets uint64
	waiting uint32
	streak  streak
}

func (s *State) version() version {
	v := version{count: s.count, log: s.count.log().Version()}
	v.count.changed, v.count.more = false, nil
	if s.count.more != nil {
		v.warming = s.count.more.warming
	}
	if s.line != nil {
		v.tickets, v.waiting, v.streak = s.line.queue.Tickets(), s.line.queue.Len(), s.line.streak
	}
	return v
}

// assertStep applies an action and asserts that the answer says whether the state changed: it
// compares what those who change the state say with the state itself.
func (m *Machine) assertStep(answer *reducer.Answer, s *State, a *reducer.Action, now clock.Mark, out *reducer.Out) {
	before, last := s.version(), s.Last
	m.apply(answer, s, a, now, out)
	assert.That(answer.Changed == (before != s.version()), "limiter: an answer says that the state changed when it did, and else not")
	assert.That(s.Last == last || answer.Changed && s.Last == max(now, last), "limiter: a change moves the mark of the latest change, and nothing else does")
	if last != clock.Always { // the linearizability tests step states without the mark of their latest change
		m.assert(s)
	}
}

// assert asserts what holds of each state that a machine leaves behind.
func (m *Machine) assert(s *State) {
	assert.That(s.count.generation != 0, "limiter: permits have a generation")
	assert.That(!s.count.changed, "limiter: a step ends with what it changed")
	if s.count.log().Len() <= assert.Few {
		assert.Sound(m.algorithm.check(&s.count, s.Last))
	}
	if s.line == nil {
		return
	}
	s.line.queue.Assert()
	k := &s.line.streak
	assert.That(k.blocks > 0 || *k == (streak{}) || k.until <= s.Last && k.refused > 0, "limiter: refusals in a row have a mark that has passed")
	assert.That(s.Waiting() <= MaxQueue, "limiter: at most MaxQueue callers wait")
	if s.Waiting() > assert.Few {
		return
	}
	for i := range int(s.Waiting()) {
		cost := s.line.queue.At(i).Cost
		assert.That(cost > 0 && cost <= m.algorithm.capacity(), "limiter: a waiter asks for what can be granted")
	}
	m.assertTail(s)
	if k := &s.line.newest; s.Waiting() > 0 && m.config.Order == Newest && k.holds(max(k.from, s.Last)) {
		assert.That(m.walkNewest(s, k.cost, max(k.from, s.Last), k.patience) == k.at, "limiter: the answer to a refusal that is kept is that of the queue")
	}
}

// assertTail asserts that the turns behind the queue, which are kept between steps, equal the turns of
// the present count and queue.
func (m *Machine) assertTail(s *State) {
	t := &s.line.tail
	if !t.known || t.head < s.Last || s.Waiting() == 0 {
		return
	}
	again := tail{count: s.count.clone(), at: s.Last}
	for i := range int(s.Waiting()) {
		m.follow(&again, s.line.queue.At(i).Cost)
		if i == 0 && again.at < t.head {
			return // it was computed later than the turn of a waiter that is not served yet
		}
	}
	assert.That(again.at == t.at, "limiter: the turn of the last waiter is the one that is kept")
}
