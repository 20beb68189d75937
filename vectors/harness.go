package vectors

import "testing"

// Test replays the file on an instance, and with a bit that flips at the first
// steps and later, which has to be found. open makes a new instance.
func Test(t *testing.T, open func() Instance) {
	t.Helper()
	f, err := Decode(V1())
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Replay(open()); err != nil {
		t.Error(err)
	}
	for _, at := range []int{0, 300} {
		for _, n := range []int{0, len(f.Suites) / 3} {
			one := File{Suites: f.Suites[n : n+1]}
			if err := one.Replay(&Flipped{Instance: open(), At: at, Bit: 97}); err == nil {
				t.Errorf("%s: a bit that flips at step %d is not found", one.Suites[0].Name, at)
			}
		}
	}
}
