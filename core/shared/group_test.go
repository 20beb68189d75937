package shared

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// oneGroup is one group of slots, each use of which is two seconds after the one before.
type oneGroup struct {
	*cells
	store *store
}

func newGroup(c limiter.Config, slots uint32) *oneGroup {
	s := newStore()
	return &oneGroup{cellsOf(s, config{name: "g", form: compiled(c), slots: slots}), s}
}

// ask asks for a permit of a key and returns why it is refused.
func (g *oneGroup) ask(name string) reducer.Reason {
	g.store.now = g.store.now.Add(2 * time.Second)
	key := g.keyOf(name)
	answer, _ := g.step(&key, reducer.Action{Kind: reducer.TryAcquire, Cost: 1})
	return answer.Reason
}

// TestInventedNamesInAGroup: keys that are used once take each other's slots, and not the slot
// of a key that is used up, or blocked.
func TestInventedNamesInAGroup(t *testing.T) {
	hour := limiter.Config{Count: 2, Period: time.Hour}
	blocking := hour
	blocking.Block = limiter.Block{After: 1, For: backoff.Config{Kind: backoff.Constant, Base: 24 * time.Hour}}
	for name, c := range map[string]limiter.Config{"rate": hour, "blocked": blocking} {
		g := newGroup(c, GroupSlots)
		for range 3 {
			g.ask("victim")
		}
		for i := range 500 {
			assert.Zero(t, g.ask(strconv.Itoa(i)))
		}
		assert.Equal(t, name, g.ask("victim").String())
		// Keys that are used up take each other's slots, and not the slot of a blocked one.
		for i := range 100 {
			key := "greedy " + strconv.Itoa(i)
			g.ask(key)
			g.ask(key)
		}
		if name == "blocked" {
			assert.Equal(t, name, g.ask("victim").String())
		} else {
			assert.Zero(t, g.ask("victim"), "of those that are used up it is the least recently used")
		}
	}
}

// TestHalfOfAGroupMayBeBlocked: above that the limit alone refuses.
func TestHalfOfAGroupMayBeBlocked(t *testing.T) {
	g := newGroup(limiter.Config{Count: 1, Period: time.Minute, Block: limiter.Block{After: 1, For: backoff.Config{Kind: backoff.Constant, Base: time.Hour}}}, 6)
	for i := range 6 {
		key := strconv.Itoa(i)
		g.ask(key)
		g.ask(key)
		want := reducer.ReasonBlocked
		if i >= 3 {
			want = reducer.ReasonRate
		}
		assert.Equal(t, want, g.ask(key), "key %d", i)
	}
	assert.EqualValues(t, 6, g.counts.Unblocked)
}

// TestNewKeysOfAGroupStay: where all others are used up, a new key keeps its slot until half
// of the slots were used after it.
func TestNewKeysOfAGroupStay(t *testing.T) {
	g := newGroup(limiter.Config{Count: 2, Period: time.Hour}, 4)
	for i := range 4 {
		key := "greedy " + strconv.Itoa(i)
		g.ask(key)
		g.ask(key)
	}
	g.ask("new")
	g.ask("newer")
	assert.Zero(t, g.ask("new"), "its second permit")
	assert.Equal(t, reducer.ReasonRate, g.ask("new"), "it has its slot")
}
