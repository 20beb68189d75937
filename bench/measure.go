package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
)

// contender is made ready for a case once. The context ends with the case.
type contender func(ctx context.Context) turn

// closing closes a contender when the context of its case ends, and waits for it: its
// memory must not be freed during the next case.
var closing sync.WaitGroup

// turn is one repetition.
type turn func(o options) figure

// peer performs a case with another library.
type peer struct {
	name string
	run  contender
	// target is the ratio that Sluice must reach, 0 for no target.
	target float64
}

// task is one case of the comparison: Sluice and its peers.
type task struct {
	name   string
	sluice contender
	peers  []peer
	// allocs is how many allocations Sluice may make, -1 for no target.
	allocs int64
	// most is the maximum of Sluice's own value, 0 for no target.
	most float64
	// unit of the value, ns where it is empty.
	unit string
}

// section is the cases under one heading.
type section struct {
	title, about string
	tasks        []task
}

// figure is the median of a contender's repetitions.
type figure struct {
	value  float64
	bytes  int64
	allocs int64
}

// row is a task measured, with a figure for each peer.
type row struct {
	task
	own    figure
	others []figure
}

// measured is a section with the cases that were chosen.
type measured struct {
	section
	rows []row
}

func measure(sections []section, o options, progress io.Writer) []measured {
	var all []measured
	for _, s := range sections {
		m := measured{section: s}
		for _, t := range s.tasks {
			if !o.only.MatchString(t.name) {
				continue
			}
			if o.alone {
				t.peers = nil
			}
			fmt.Fprintln(progress, "measuring:", t.name)
			m.rows = append(m.rows, t.measure(o))
		}
		if len(m.rows) > 0 {
			all = append(all, m)
		}
	}
	return all
}

// measure measures the contenders in turns.
func (t task) measure(o options) row {
	ctx, cancel := context.WithCancel(context.Background())
	defer closing.Wait()
	defer cancel()
	turns := []turn{t.sluice(ctx)}
	for _, p := range t.peers {
		turns = append(turns, p.run(ctx))
	}
	all := make([][]figure, len(turns))
	for range o.repeat {
		for i, turn := range turns {
			all[i] = append(all[i], turn(o))
		}
	}
	r := row{task: t, own: median(all[0])}
	for _, figures := range all[1:] {
		r.others = append(r.others, median(figures))
	}
	return r
}

// median takes each column by itself.
func median(figures []figure) figure {
	var values []float64
	var bytes, allocs []int64
	for _, f := range figures {
		values = append(values, f.value)
		bytes = append(bytes, f.bytes)
		allocs = append(allocs, f.allocs)
	}
	slices.Sort(values)
	slices.Sort(bytes)
	slices.Sort(allocs)
	mid := len(figures) / 2
	return figure{value: values[mid], bytes: bytes[mid], allocs: allocs[mid]}
}
