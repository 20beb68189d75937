package linearizability

import (
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/sluice-go/sluice/internal/testenv"
)

// scenario plays a history of a runner and returns its model.
type scenario func(h *history) *model

// where histories happen.
type where bool

const (
	// virtual: the clients advance the clock while others are in the runner.
	// No client waits.
	virtual where = false
	// bubbles: in the virtual time of testing/synctest.
	bubbles where = true
)

// played is a history with its model.
type played struct {
	number  int
	history *history
	model   *model
}

const (
	// batch of histories in one bubble.
	batch = 100
	// patience with one history, which takes some milliseconds. Porcupine may
	// have to try all orders.
	patience = 20 * time.Second
)

// search plays up to n histories until one has no linearization, and returns it.
func search(t *testing.T, place where, n int, s scenario) *played {
	t.Helper()
	compared, met, undecided := 0, 0, 0
	defer func() {
		t.Helper()
		t.Logf("SLUICE_SEED=%d: %d histories, clients met in %d", testenv.Seed(), compared, met)
	}()
	for from := 0; from < n; from += batch {
		for _, p := range play(t, place, from, min(n, from+batch), s) {
			if p.model.void {
				continue
			}
			compared++
			if p.history.overlaps() {
				met++
			}
			switch result, _ := p.model.check(p.history.ops); result {
			case porcupine.Illegal:
				return &p
			case porcupine.Unknown:
				undecided++
				t.Logf("SLUICE_SEED=%d: history %d is undecided", testenv.Seed(), p.number)
			}
		}
	}
	if undecided > 1+n/200 {
		t.Errorf("%d histories are undecided", undecided)
	}
	return nil
}

// play plays the histories of some numbers.
func play(t *testing.T, place where, from, to int, s scenario) (all []played) {
	t.Helper()
	histories := func() {
		for i := from; i < to; i++ {
			h := newHistory(rand.New(rand.NewPCG(testenv.Seed(), uint64(i))), bool(place))
			m := s(h)
			m.exact = bool(place)
			h.ops = m.prepare(h)
			all = append(all, played{i, h, m})
		}
	}
	if place == virtual {
		histories()
		return all
	}
	synctest.Test(t, func(*testing.T) {
		histories()
		time.Sleep(100 * unit) // ends what a defect has left behind
	})
	return all
}

// linearizable fails the test when a history of n has no linearization.
func linearizable(t *testing.T, place where, n int, s scenario) {
	t.Helper()
	n *= testenv.Times()
	if p := search(t, place, n, s); p != nil {
		t.Errorf("SLUICE_SEED=%d: history %d has no linearization:\n%s%s", testenv.Seed(), p.number, p.history, picture(p))
	}
}

// picture draws a history for a browser.
func picture(p *played) string {
	_, m := p.model.check(nil)
	_, info := porcupine.CheckOperationsVerbose(m, p.history.ops, patience)
	file, err := os.CreateTemp("", "linearizability-*.html")
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	if err := porcupine.Visualize(m, info, file); err != nil {
		return err.Error()
	}
	return "see " + file.Name()
}

// caught fails the test when the defect is not found within n histories.
func caught(t *testing.T, place where, n int, s scenario) {
	t.Helper()
	if search(t, place, n, s) == nil {
		t.Errorf("SLUICE_SEED=%d: not caught in %d histories", testenv.Seed(), n)
	}
}

// once is true once.
type once struct{ atomic.Bool }

func (o *once) first() bool { return o.CompareAndSwap(false, true) }
