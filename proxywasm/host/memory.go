package host

import "fmt"

// TB is what FlatMemory needs of testing.TB.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// FlatMemory runs a step warmUp times and then times more, and fails the test when
// the memory of any VM of the process grew after the warm-up. It passes the number
// of the run, from 0. Memory of a VM never shrinks, so that the last size is the
// greatest.
func FlatMemory(t TB, p *Process, warmUp, times int, step func(run int)) {
	t.Helper()
	for run := range warmUp {
		step(run)
	}
	warm := map[*vm]uint32{}
	for _, v := range p.vms {
		warm[v] = v.pages()
	}
	for run := range times {
		step(warmUp + run)
		for _, v := range p.vms {
			before, known := warm[v]
			if now := v.pages(); known && now > before {
				t.Errorf("the memory of %s grew from %d to %d pages of 64 KiB at run %d, %d after the warm-up",
					threadName(v.thread), before, now, warmUp+run, run+1)
				return
			}
		}
	}
}

func threadName(t *thread) string {
	if t.number == Main {
		return "the main thread"
	}
	return fmt.Sprintf("worker %d", t.number)
}
