package host

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"strings"
)

// Schedule decides which task of an Interleave goes on. It serves one Interleave.
type Schedule struct {
	pick  func(n int) int
	taken []int
}

// Random returns the schedule of a seed: the same seed gives the same order.
func Random(seed uint64) *Schedule {
	random := rand.New(rand.NewPCG(seed, 0))
	return &Schedule{pick: random.IntN}
}

// Choices returns a schedule that takes these places in the row of the tasks that
// can go on, and the first one afterwards: what Schedule.String printed.
func Choices(places ...int) *Schedule {
	at := 0
	return &Schedule{pick: func(n int) int {
		place := 0
		if at < len(places) {
			place = min(places[at], n-1)
		}
		at++
		return place
	}}
}

// AllSchedules returns every schedule there is of the tasks that the body of the
// loop interleaves, each once. The body must do the same every time but for the
// schedule: begin with a new Process, as a rule. The number of schedules grows
// fast; two tasks of n calls each to what they share have about 4 to the power
// of n.
func AllSchedules() iter.Seq[*Schedule] {
	return func(yield func(*Schedule) bool) {
		type choice struct{ taken, of int }
		var path []choice
		for {
			at := 0
			schedule := &Schedule{pick: func(n int) int {
				if at == len(path) {
					path = append(path, choice{0, n})
				}
				if path[at].of != n {
					panic(misuse("the body of AllSchedules does not repeat itself"))
				}
				at++
				return path[at-1].taken
			}}
			if !yield(schedule) {
				return
			}
			path = path[:at]
			for len(path) > 0 && path[len(path)-1].taken+1 == path[len(path)-1].of {
				path = path[:len(path)-1]
			}
			if len(path) == 0 {
				return
			}
			path[len(path)-1].taken++
		}
	}
}

func (s *Schedule) next(n int) int {
	if n == 1 {
		return 0
	}
	place := s.pick(n)
	s.taken = append(s.taken, place)
	return place
}

// String returns what the schedule decided so far, for Choices: "0, 1, 1".
func (s *Schedule) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(s.taken), " ", ", "), "[]")
}

// scheduler runs the tasks of an interleaving, one at a time.
type scheduler struct {
	schedule *Schedule
	running  int // from 1
	ready    []int
	wake     []chan struct{}
	end      chan struct{}
}

// Interleave runs tasks at once, each of which uses one worker of its own: it runs
// callbacks there (RequestHeaders, Tick, Do). Exactly one task runs at a time; the
// schedule decides anew which one goes on before each host call that reads or
// writes what the workers share: shared data, queues, metrics and clocks. That is
// how an update is lost that no compare-and-set protects.
//
// A test must not stop in a task (testing.T.FailNow); a panic of a task goes on in
// the caller.
func (p *Process) Interleave(schedule *Schedule, tasks ...func()) {
	if p.scheduler != nil {
		panic(misuse("an Interleave within an Interleave"))
	}
	if len(tasks) == 0 {
		return
	}
	s := &scheduler{schedule: schedule, end: make(chan struct{}), wake: make([]chan struct{}, len(tasks)+1)}
	p.scheduler = s
	defer func() { p.scheduler = nil }()
	var failure any
	exited := false
	for i, task := range tasks {
		number := i + 1
		s.ready = append(s.ready, number)
		s.wake[number] = make(chan struct{})
		go func() {
			<-s.wake[number]
			returned := false
			defer func() {
				if r := recover(); r != nil {
					failure = r
				} else if !returned {
					exited = true
				}
				s.finish(number)
			}()
			task()
			returned = true
		}()
	}
	s.resume()
	<-s.end
	switch {
	case failure != nil:
		panic(failure)
	case exited:
		runtime.Goexit()
	}
}

// resume lets the task go on that the schedule picks.
func (s *scheduler) resume() {
	s.running = s.ready[s.schedule.next(len(s.ready))]
	s.wake[s.running] <- struct{}{}
}

func (s *scheduler) finish(number int) {
	for at, ready := range s.ready {
		if ready == number {
			s.ready = append(s.ready[:at], s.ready[at+1:]...)
			break
		}
	}
	if len(s.ready) == 0 {
		close(s.end)
		return
	}
	s.resume()
}

// yield is a point at which another task can go on.
func (p *Process) yield() {
	s := p.scheduler
	if s == nil {
		return
	}
	this := s.running
	if next := s.ready[s.schedule.next(len(s.ready))]; next != this {
		s.running = next
		s.wake[next] <- struct{}{}
		<-s.wake[this]
	}
}
