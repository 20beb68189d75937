package queue_test

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
	"github.com/sluice-go/sluice/core/queue"
	"github.com/sluice-go/sluice/core/wire"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/reducer"
)

// A line pushes a caller, or removes one by its ticket; the output has the waiters by
// arrival and by the ends of their waits.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var q queue.Queue
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

func arrivals(q *queue.Queue) []uint64 {
	callers := []uint64{}
	for i := range int(q.Len()) {
		callers = append(callers, q.At(i).Caller)
	}
	return callers
}

func ends(q *queue.Queue) []uint64 {
	callers := []uint64{}
	for i := 0; q.Ending(i) != nil; i++ {
		callers = append(callers, q.Ending(i).Caller)
	}
	return callers
}

// consistent checks the queue, its ends, and its encoding.
func consistent(t *testing.T, q *queue.Queue) {
	t.Helper()
	if err := q.Check(); err != nil {
		t.Fatal(err)
	}
	if n := int(q.Len()); n > 0 && (q.Front() != q.At(0) || q.Back() != q.At(n-1)) || n == 0 && (q.Front() != nil || q.Back() != nil) {
		t.Fatalf("of %d waiters the oldest is %v, the newest %v", n, q.Front(), q.Back())
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

func written(q *queue.Queue) []byte {
	c := wire.Writer(nil, 'Q', 0)
	q.Code(&c)
	return c.Bytes()
}

func read(src []byte) (*queue.Queue, error) {
	var q queue.Queue
	c := wire.Reader(src, 'Q', 0)
	q.Code(&c)
	if err := c.Close(); err != nil {
		return nil, err
	}
	if err := q.Check(); err != nil {
		return nil, wire.Broken(err)
	}
	return &q, nil
}

// Any history keeps the two orders of a plain list.
func TestAgainstAList(t *testing.T) {
	const seed = 11
	r := rand.New(rand.NewPCG(seed, 0))
	for run := range 200 {
		var q queue.Queue
		var list []queue.Waiter // by arrival
		var gone []uint64
		for n := range uint64(100) {
			switch {
			case r.IntN(3) > 0 && len(list) < 20:
				w := queue.Waiter{Caller: n, Cost: r.Uint32N(5), Ends: clock.Mark(r.IntN(10))}
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

func compare(t *testing.T, q *queue.Queue, list []queue.Waiter) {
	t.Helper()
	consistent(t, q)
	callers, cost := []uint64{}, uint64(0)
	for _, w := range list {
		callers = append(callers, w.Caller)
		cost += uint64(w.Cost)
	}
	byEnd := slices.Clone(list)
	slices.SortStableFunc(byEnd, func(a, b queue.Waiter) int { return int(a.Ends - b.Ends) })
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
	var q queue.Queue
	ticket := q.Push(1, 1, 5)
	q.Push(2, 1, 3)
	c := q.Clone()
	c.Remove(ticket)
	c.Push(3, 1, 1)
	if !slices.Equal(arrivals(&q), []uint64{1, 2}) || !slices.Equal(arrivals(&c), []uint64{2, 3}) {
		t.Errorf("the queue has %v, its clone %v", arrivals(&q), arrivals(&c))
	}
}

// Tickets that are out of order, were never issued, or occur twice are refused, and
// so are more waiters than there are bytes for.
func TestDecoderFindsBrokenQueues(t *testing.T) {
	var whole queue.Queue
	for id := range uint64(4) {
		whole.Push(id, 1, clock.Mark(10-id))
	}
	whole.Take(whole.At(1))
	encoded := written(&whole)
	passed := 0
	for i := wire.HeaderSize; i < len(encoded); i++ {
		for to := range 256 {
			broken := bytes.Clone(encoded)
			broken[i] = byte(to)
			q, err := read(broken)
			if err != nil {
				if !errors.Is(err, reducer.ErrEncoding) {
					t.Fatal(err)
				}
				continue
			}
			passed++
			if !bytes.Equal(broken, written(q)) {
				t.Fatalf("byte %d of %x: encoded again it is %x", i, broken, written(q))
			}
			consistent(t, q)
		}
	}
	if passed == 0 {
		t.Error("nothing passed, not even a changed caller")
	}
	for n := range encoded {
		if _, err := read(encoded[:n]); !errors.Is(err, reducer.ErrEncoding) {
			t.Errorf("cut short at %d: %v", n, err)
		}
	}
}

// Tickets that are not in order are found in a queue, too, and a queue whose waits end
// in the order of arrival is read as one that needs no second order.
func TestCheckAndOrder(t *testing.T) {
	for name, ends := range map[string][]clock.Mark{"ascending": {1, 1, 5}, "descending": {5, 1, 1}, "mixed": {1, 5, 2}} {
		var q queue.Queue
		for id, at := range ends {
			q.Push(uint64(id), 1, at)
		}
		got, err := read(written(&q))
		if err != nil || got.InOrder() != q.InOrder() || q.InOrder() != (name == "ascending") {
			t.Errorf("%s: %v, in order %v, read %v", name, err, q.InOrder(), got.InOrder())
		}
		for _, ticket := range []uint64{0, 1, 3, 4} {
			broken := q.Clone()
			if broken.At(1).Ticket = ticket; broken.Check() == nil {
				t.Errorf("%s: the second of three waiters has the ticket %d", name, ticket)
			}
		}
	}
}

// The size of the encoding follows the present waiters, not the earlier ones (G20).
func TestShrinks(t *testing.T) {
	var q queue.Queue
	for id := range uint64(10_000) {
		q.Push(id, 1, clock.Mark(id))
	}
	long := len(written(&q))
	q.DropTo(1, reducer.ReasonFull, new(reducer.Out))
	one := len(written(&q))
	q.Take(q.Front())
	if empty := len(written(&q)); long > 6*10_000 || one > 20 || empty > 10 {
		t.Errorf("10,000 waiters take %d bytes, one of them %d, none %d", long, one, empty)
	}
}
