package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"testing"
)

// body is the measured loop of one contender.
type body func(b *testing.B)

// peer does what a case does with another library.
type peer struct {
	name string
	run  body
	// target is how many times as fast Sluice is to be, 0 for no such wish.
	target float64
}

// task is one row of the comparison: what Sluice does, and who else does it.
type task struct {
	name   string
	sluice body
	peers  []peer
	// allocs is how many allocations Sluice may make, -1 for no such wish.
	allocs int64
}

// figure is the median of a contender's repetitions.
type figure struct {
	ns     float64
	bytes  int64
	allocs int64
}

// row is a task measured, with a figure for each peer.
type row struct {
	task
	own    figure
	others []figure
}

var errFailed = errors.New("the function under measurement failed")

func measure(tasks []task, o options, progress io.Writer) ([]row, error) {
	if err := flag.Set("test.benchtime", o.each.String()); err != nil {
		return nil, err
	}
	var rows []row
	for _, t := range tasks {
		if !o.only.MatchString(t.name) {
			continue
		}
		if o.alone {
			t.peers = nil
		}
		fmt.Fprintln(progress, "measuring:", t.name)
		r, err := t.measure(o.repeat, o.cpu)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// measure lets the contenders take turns.
func (t task) measure(repeat int, cpu bool) (row, error) {
	bodies := []body{t.sluice}
	for _, p := range t.peers {
		bodies = append(bodies, p.run)
	}
	all := make([][]testing.BenchmarkResult, len(bodies))
	for range repeat {
		for i, run := range bodies {
			result := testing.Benchmark(run)
			if result.N == 0 {
				return row{}, errFailed
			}
			all[i] = append(all[i], result)
		}
	}
	r := row{task: t, own: median(all[0], cpu)}
	for _, results := range all[1:] {
		r.others = append(r.others, median(results, cpu))
	}
	return r, nil
}

// median takes each column by itself.
func median(results []testing.BenchmarkResult, cpu bool) figure {
	var ns []float64
	var bytes, allocs []int64
	for _, r := range results {
		each := float64(r.T.Nanoseconds()) / float64(r.N)
		if cpu {
			each = r.Extra[cpuMetric]
		}
		ns = append(ns, each)
		bytes = append(bytes, r.AllocedBytesPerOp())
		allocs = append(allocs, r.AllocsPerOp())
	}
	slices.Sort(ns)
	slices.Sort(bytes)
	slices.Sort(allocs)
	mid := len(results) / 2
	return figure{ns: ns[mid], bytes: bytes[mid], allocs: allocs[mid]}
}
