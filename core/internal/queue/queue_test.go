package queue

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/wire"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/reducer"
)

// A line pushes a caller, or removes one by its ticket; beside it stand the
// waiters by arrival and by the ends of their waits.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var q Queue
		tickets := map[uint64]uint64{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				a := script.NewArgs(t, d.Pos, line)
				said := "ok"
				switch verb, id := a.Word(), a.Count("id", 0); verb {
				case "push":
					tickets[id] = q.Push(id, a.Count32("cost", 1), a.Mark("ends", clock.Never))
				case "remove":
					if !q.Remove(tickets[id]) {
						said = "not here"
					}
				}
				a.Close()
				consistent(t, &q)
				fmt.Fprintf(&out, "%-22s %-9s by arrival %v, by end %v, cost %d\n", strings.TrimSpace(line), said, arrivals(&q), ends(&q), q.Cost())
			}
			return out.String()
		})
	})
}

func arrivals(q *Queue) []uint64 {
	callers := []uint64{}
	for w := q.Front(); w != nil; w = q.Behind(w) {
		callers = append(callers, w.Caller)
	}
	return callers
}

func ends(q *Queue) []uint64 {
	callers := []uint64{}
	for w := q.Soonest(); w != nil; w = q.Later(w) {
		callers = append(callers, w.Caller)
	}
	return callers
}

// consistent checks the queue, its way backwards, and its encoding.
func consistent(t *testing.T, q *Queue) {
	t.Helper()
	if err := q.Check(); err != nil {
		t.Fatal(err)
	}
	backwards := []uint64{}
	for w := q.Back(); w != nil; w = q.Before(w) {
		backwards = append(backwards, w.Caller)
	}
	slices.Reverse(backwards)
	if !slices.Equal(backwards, arrivals(q)) || len(backwards) != int(q.Len()) {
		t.Fatalf("forwards %v, backwards %v, length %d", arrivals(q), backwards, q.Len())
	}
	encoded := written(q)
	again, err := read(encoded)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(encoded, written(again)) || again.Cost() != q.Cost() || again.Len() != q.Len() {
		t.Fatal("decoded, it is another queue")
	}
}

func written(q *Queue) []byte {
	c := wire.Writer(nil, 'Q', 0)
	q.Code(&c)
	return c.Bytes()
}

func read(src []byte) (*Queue, error) {
	var q Queue
	c := wire.Reader(src, 'Q', 0)
	q.Code(&c)
	if err := c.Close(); err != nil {
		return nil, err
	}
	return &q, q.Check()
}

// Any history keeps the two orders of a plain list.
func TestAgainstAList(t *testing.T) {
	const seed = 11
	r := rand.New(rand.NewPCG(seed, 0))
	for run := range 200 {
		var q Queue
		var list []Waiter // by arrival
		var gone []uint64
		for n := range uint64(100) {
			switch {
			case r.IntN(3) > 0 && len(list) < 20:
				w := Waiter{Caller: n, Cost: r.Uint32N(5), Ends: clock.Mark(r.IntN(10))}
				w.Ticket = q.Push(w.Caller, w.Cost, w.Ends)
				if slices.Contains(gone, w.Ticket) || w.Ticket == 0 {
					t.Fatalf("seed %d, run %d: a ticket was given twice", seed, run)
				}
				list = append(list, w)
			case len(list) > 0:
				i := r.IntN(len(list))
				if found := q.Find(list[i].Ticket); found == nil || found.Caller != list[i].Caller {
					t.Fatalf("seed %d, run %d: ticket of %d finds %v", seed, run, list[i].Caller, found)
				}
				q.Remove(list[i].Ticket)
				gone = append(gone, list[i].Ticket)
				list = slices.Delete(list, i, i+1)
			}
			for _, ticket := range gone {
				if q.Remove(ticket) {
					t.Fatalf("seed %d, run %d: a ticket was used twice", seed, run)
				}
			}
			compare(t, &q, list)
		}
	}
}

func compare(t *testing.T, q *Queue, list []Waiter) {
	t.Helper()
	consistent(t, q)
	callers, cost := []uint64{}, uint64(0)
	for _, w := range list {
		callers = append(callers, w.Caller)
		cost += uint64(w.Cost)
	}
	byEnd := slices.Clone(list)
	slices.SortStableFunc(byEnd, func(a, b Waiter) int { return int(a.Ends - b.Ends) })
	inOrder := []uint64{}
	for _, w := range byEnd {
		inOrder = append(inOrder, w.Caller)
	}
	if !slices.Equal(callers, arrivals(q)) || !slices.Equal(inOrder, ends(q)) || cost != q.Cost() {
		t.Fatalf("queue %v %v %d, list %v %v %d", arrivals(q), ends(q), q.Cost(), callers, inOrder, cost)
	}
}

// A clone shares nothing.
func TestClone(t *testing.T) {
	var q Queue
	ticket := q.Push(1, 1, 5)
	q.Push(2, 1, 3)
	c := q.Clone()
	c.Remove(ticket)
	c.Push(3, 1, 1)
	if !slices.Equal(arrivals(&q), []uint64{1, 2}) || !slices.Equal(arrivals(&c), []uint64{2, 3}) {
		t.Errorf("the queue has %v, its clone %v", arrivals(&q), arrivals(&c))
	}
}

// Links that lead in circles, away, or past a waiter do not pass.
func TestCheckFindsBrokenLinks(t *testing.T) {
	var whole Queue
	for id := range uint64(4) {
		whole.Push(id, 1, clock.Mark(10-id))
	}
	whole.Take(whole.Behind(&whole.slots[0]))
	encoded := written(&whole)
	passed := 0
	for i := 2 * 8; i < len(encoded); i++ {
		for _, to := range []byte{0, 1, 2, 3, 4, 5, 0x80, 0xff} {
			broken := bytes.Clone(encoded)
			broken[i] = to
			q, err := read(broken)
			if err != nil {
				continue
			}
			passed++
			consistent(t, q)
		}
	}
	if passed == 0 {
		t.Error("nothing passed, not even a changed caller")
	}
	if _, err := read(encoded[:20]); !errors.Is(err, reducer.ErrEncoding) {
		t.Errorf("cut short: %v", err)
	}
}
