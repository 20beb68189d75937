package vectors

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/wasm/abi"
)

var rewrite = flag.Bool("rewrite", false, "write the file again; a changed one is a new version")

const path = "v1.bin.gz"

// TestGenerated holds the committed file to what the core and the suites give:
// a change of a decision, an encoding or a suite fails here.
func TestGenerated(t *testing.T) {
	encoded, err := generated(t).Encode()
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.WriteFile(path, encoded, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	was, err := Decode(V1())
	if err != nil {
		t.Fatal(err)
	}
	is, err := Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	for i := range is.Suites {
		a, b := &was.Suites[min(i, len(was.Suites)-1)], &is.Suites[i]
		if a.Name != b.Name || !bytes.Equal(a.Steps, b.Steps) {
			t.Fatalf("%s has other steps", b.Name)
		}
		for k := range b.Digests {
			if a.Digests[k] != b.Digests[k] {
				t.Fatalf("%s: the core comes to other bytes at steps %d to %d", b.Name, k*stride, (k+1)*stride)
			}
		}
	}
	if len(was.Suites) != len(is.Suites) {
		t.Fatalf("%d suites, the file has %d", len(is.Suites), len(was.Suites))
	}
}

// TestNative replays the committed file natively, with policies as documents and as
// plan bytes.
func TestNative(t *testing.T) {
	f, err := Decode(V1())
	if err != nil {
		t.Fatal(err)
	}
	const least = 200_000
	if n := f.Steps(); n < least {
		t.Fatalf("%d steps, at least %d", n, least)
	}
	for _, i := range []Instance{Native(), WithReader(Native())} {
		if err := f.Replay(i); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEverythingOccurs holds the vectors to what they are for: every action, every
// verdict and reason of cells, every kind of decision.
func TestEverythingOccurs(t *testing.T) {
	f, err := Decode(V1())
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{Instance: Native()}
	if err := f.Replay(w); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		seen [256]int
		all  []int
	}{
		{"action", w.actions, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}},
		{"verdict", w.verdicts, []int{0, 1, 2, 3, 4}},
		{"reason of a refusal", w.reasons, []int{0, 1, 2, 3, 4, 5, 6, 10}},
		{"effect on others", w.others, []int{1, 2, 3, 4}},
		{"decision", w.kinds, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17}},
		{"pipeline of a change", w.policies, []int{0, 1, 2}},
		{"reason of a decision", w.why, []int{1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 18, 19}},
	} {
		for _, n := range c.all {
			if c.seen[n] == 0 {
				t.Errorf("%s %d does not occur", c.what, n)
			}
		}
	}
}

// watched notes what passes.
type watched struct {
	Instance
	actions, verdicts, reasons, others, kinds, why, policies [256]int
}

func (w *watched) Call(export string, p ...uint64) (int32, error) {
	if export == "reduce" {
		w.actions[w.Buffer(9)[8]]++
	}
	code, err := w.Instance.Call(export, p...)
	if export == "reduce" && err == nil && code > 0 {
		left := w.Buffer(uint32(code))
		effects := left[4+int(left[0])+int(left[1])<<8:]
		w.verdicts[effects[0]]++
		w.reasons[effects[1]]++
		for others := effects[36:]; len(others) > 0; others = others[40:] {
			w.others[others[0]]++
		}
	}
	return code, err
}

func (w *watched) Records(size uint32) []byte {
	records := w.Instance.Records(size)
	for r := records; len(r) > 0; r = r[recordSize:] {
		w.kinds[r[40]]++
		w.why[r[42]]++
		if decision.Kind(r[40]) == decision.Change {
			w.policies[r[46]]++
		}
	}
	return records
}

// TestPlantedDifferences flips single bits in what an instance leaves, in states,
// in effects and in decisions, early and late: each is found.
func TestPlantedDifferences(t *testing.T) {
	f, err := Decode(V1())
	if err != nil {
		t.Fatal(err)
	}
	suites := f.Suites
	for _, at := range []int{0, 1, 777, 7_999} {
		for _, n := range []int{0, 8, 13, 2 * len(cells), 2*len(cells) + 5, 2*len(cells) + len(pipelines) - 2} {
			if at >= suites[n].Count {
				continue
			}
			f.Suites = suites[n : n+1]
			for bit := range 3 {
				err := f.Replay(&Flipped{Instance: Native(), At: at, Bit: uint(at*31 + bit*97)})
				var d *Difference
				switch {
				case err == nil:
					t.Errorf("%s: a bit that flips at step %d is not found", suites[n].Name, at)
				case errors.As(err, &d) && (at < d.From || at >= d.To):
					t.Errorf("%s: a bit that flips at step %d is found at %v", suites[n].Name, at, err)
				}
			}
		}
	}
}

// TestAttributes changes what attributes say in the file: a runtime that reads them itself
// finds it.
func TestAttributes(t *testing.T) {
	f, err := Decode(V1())
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for i, s := range f.Suites {
		if len(s.Sets) == 0 {
			continue
		}
		says := s.Sets[i%len(s.Sets)].Says
		for k := range says {
			for _, change := range []func(x *Said){
				func(x *Said) { x.Applies ^= 1 },
				func(x *Said) { x.Decides ^= abi.ConditionsDenied },
				func(x *Said) { x.Priced, x.Costs = x.Priced|1<<15, append(slices.Clone(x.Costs), 1) },
			} {
				was := says[k]
				change(&says[k])
				if err := (&File{Suites: []Suite{s}}).Replay(Native()); err == nil || !strings.Contains(err.Error(), "say something else about policy") {
					t.Fatalf("%s: %v", s.Name, err)
				}
				says[k] = was
				asked++
			}
		}
	}
	if asked < 200 {
		t.Errorf("%d changes", asked)
	}
}

// What is cut off or has other bytes is an error and no panic.
func TestDecodeErrors(t *testing.T) {
	whole, err := Decode(V1())
	if err != nil {
		t.Fatal(err)
	}
	small := &File{Suites: whole.Suites[len(whole.Suites)-1:]}
	src, err := small.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for n := range src {
		if _, err := Decode(src[:n]); err == nil {
			t.Fatalf("%d of %d bytes are taken for a file", n, len(src))
		}
	}
	for _, change := range []func(s *Suite){
		func(s *Suite) { s.Steps = s.Steps[:len(s.Steps)-1] },
		func(s *Suite) { s.Steps = append([]byte{opDone, 0, 0, 99}, s.Steps...) },
		func(s *Suite) { s.Policies = [][]byte{[]byte(`{"steps":[]}`)} },
		func(s *Suite) { s.Digests = s.Digests[1:] },
		func(s *Suite) { s.Joined = 1 },
		func(s *Suite) { s.Steps = append([]byte{opBegin, hasSet, 0, 99}, s.Steps...) },
		func(s *Suite) { s.Steps = append([]byte{opJoin, 0, 0, 0}, s.Steps...) },
	} {
		suite := small.Suites[0]
		change(&suite)
		if err := (&File{Suites: []Suite{suite}}).Replay(Native()); err == nil {
			t.Error("a broken suite is replayed")
		}
	}
}
