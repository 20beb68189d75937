package host

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Worker is what one thread has of a Filter: a root context in a VM.
type Worker struct {
	filter *Filter
	thread *thread
	handle *handle // nil where the thread refused the plugin
	loaded time.Duration
}

// Number returns the number of the thread.
func (w *Worker) Number() int { return w.thread.number }

// Tick fires the timer that the root context set by
// proxy_set_tick_period_milliseconds, whatever time it is. It returns false and
// does nothing where Envoy has no timer: none was set, or the VM is dead.
func (w *Worker) Tick() bool {
	if w.TickPeriod() == 0 || !w.handle.vm.has("proxy_on_tick") || w.Failed() != nil {
		return false
	}
	w.handle.root.notify("proxy_on_tick")
	return true
}

// TickPeriod returns the time between two ticks, 0 for none.
func (w *Worker) TickPeriod() time.Duration {
	if w.handle == nil {
		return 0
	}
	return w.handle.root.period
}

// Failed returns why the VM is dead, nil for one that lives.
func (w *Worker) Failed() error {
	if w.handle == nil {
		return errors.New("the thread refused the plugin")
	}
	return w.handle.vm.failed
}

// Pages returns the size of the VM's memory in pages of 64 KiB.
func (w *Worker) Pages() uint32 { return w.vm().pages() }

// Kill lets the VM die between two callbacks, as after a trap in another stream.
func (w *Worker) Kill() { w.vm().fail("none", errors.New("the test killed the VM")) }

// TrapNext lets the next callback trap before it does anything.
func (w *Worker) TrapNext() { w.vm().trapNext = true }

// TrapAtHostCall lets the guest trap in its nth host call from now, before the
// call has an effect: 1 is the next one.
func (w *Worker) TrapAtHostCall(n int) { w.vm().trapAt = n }

func (w *Worker) vm() *vm {
	if w.handle == nil {
		panic(misuse("worker " + strconv.Itoa(w.thread.number) + " refused the plugin and has no VM of it"))
	}
	return w.handle.vm
}

// HostCalls returns how often each function was called between the guest and the
// host since the VM started.
func (w *Worker) HostCalls() Counts { return w.vm().counts() }

// Counts are calls by name: the host calls of the guest ("proxy_log"), its
// callbacks ("proxy_on_tick") and "malloc". What a filter costs is about the number
// of them.
type Counts map[string]int

func (v *vm) counts() Counts {
	counts := Counts(maps.Clone(v.entered))
	for at, n := range v.calls {
		if n > 0 {
			counts[imports[at].name] += n
		}
	}
	return counts
}

// HostCalls returns the calls of all VMs that run, the main thread's too.
func (p *Process) HostCalls() Counts {
	total := Counts{}
	for _, v := range p.vms {
		for name, n := range v.counts() {
			total[name] += n
		}
	}
	return total
}

// Since returns the calls made after an earlier count.
func (c Counts) Since(earlier Counts) Counts {
	since := Counts{}
	for name, n := range c {
		if n != earlier[name] {
			since[name] = n - earlier[name]
		}
	}
	return since
}

// String returns the counts sorted by name: "malloc 2, proxy_log 1".
func (c Counts) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		parts = append(parts, name+" "+strconv.Itoa(c[name]))
	}
	return strings.Join(parts, ", ")
}

// Do runs a whole exchange: a request without a body, and, where the filter lets it
// pass, a response without one. A stream that the filter pauses is returned as it
// is then.
func (w *Worker) Do(request, response Headers) *Stream {
	s := w.Stream(StreamOptions{})
	s.RequestHeaders(request, End)
	if s.Upstream() != nil && !s.Ended() {
		s.ResponseHeaders(response, End)
	}
	return s
}
