package main

import (
	"strings"
	"testing"
)

// TestFormat makes a table of two rounds.
func TestFormat(t *testing.T) {
	list := []*contender{
		{name: "no filter"}, {name: "local_ratelimit, admitted"}, {name: "local_ratelimit, refused", refuses: true},
		{name: "module without callbacks"}, {name: "Sluice, worker, refused", refuses: true},
	}
	rows := make([]row, len(list))
	for i, rates := range [][2]float64{{1000, 2000}, {900, 1800}, {800, 1600}, {500, 1000}, {400, 1600}} {
		same := []float64{1, 2}
		rows[i] = row{rate: rates[:], p50: same, p99: same, cpu: same, load: same}
	}
	lines := strings.Split(format(list, rows), "\n")
	if want := "| Sluice, worker, refused | 1000 | 2 us | 2 us | 1.5 us | 1.5 us | 0.60 | 1.20 | 0.75 |"; lines[6] != want {
		t.Errorf("got %s, want %s", lines[6], want)
	}
}
