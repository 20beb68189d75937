package engine

import "github.com/sluice-go/sluice/clock"

// class orders events at one mark.
type class uint8

const (
	control class = iota
	wakes
	answers
	cancels
	arrivals
)

// event is something that will happen. It is part of what it happens to, of which one
// field is set.
type event struct {
	place   int // in the queue, from 1; 0 outside
	fire    func(*event)
	job     *job
	call    *call
	client  *client
	user    *user
	service *service
	process *process
	index   int
}

// entry is an event in the queue. The order has the class and the number of the
// event, so that no two entries are equal.
type entry struct {
	at    clock.Mark
	order uint64
	event *event
}

func (e *entry) before(other *entry) bool {
	return e.at < other.at || e.at == other.at && e.order < other.order
}

// queue is a heap of events with four children a node.
type queue struct {
	list   []entry
	number uint64
}

// put puts an event into the queue, or moves it to another mark.
func (q *queue) put(e *event, at clock.Mark, c class) {
	q.number++
	one := entry{at: at, order: uint64(c)<<56 | q.number, event: e}
	if e.place == 0 {
		q.list = append(q.list, one)
		q.up(len(q.list)-1, one)
		return
	}
	i := e.place - 1
	if one.before(&q.list[i]) {
		q.up(i, one)
	} else {
		q.down(i, one)
	}
}

// remove takes an event out of the queue, if it is there.
func (q *queue) remove(e *event) {
	if e.place == 0 {
		return
	}
	i := e.place - 1
	e.place = 0
	last := len(q.list) - 1
	one := q.list[last]
	q.list[last] = entry{}
	q.list = q.list[:last]
	switch {
	case i == last:
	case i > 0 && one.before(&q.list[(i-1)/4]):
		q.up(i, one)
	default:
		q.down(i, one)
	}
}

func (q *queue) set(i int, one entry) {
	q.list[i] = one
	one.event.place = i + 1
}

func (q *queue) up(i int, one entry) {
	for i > 0 {
		above := (i - 1) / 4
		if !one.before(&q.list[above]) {
			break
		}
		q.set(i, q.list[above])
		i = above
	}
	q.set(i, one)
}

func (q *queue) down(i int, one entry) {
	n := len(q.list)
	for {
		first := 4*i + 1
		if first >= n {
			break
		}
		least := first
		for k := first + 1; k < min(first+4, n); k++ {
			if q.list[k].before(&q.list[least]) {
				least = k
			}
		}
		if !q.list[least].before(&one) {
			break
		}
		q.set(i, q.list[least])
		i = least
	}
	q.set(i, one)
}
