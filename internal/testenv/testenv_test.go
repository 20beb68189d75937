package testenv_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/testenv"
)

func TestUnset(t *testing.T) {
	for _, name := range []string{"SLUICE_SEED", "SLUICE_CASES", "SLUICE_TIMES", "SLUICE_SOAK", "SLUICE_SEEDS", "SLUICE_RECORD"} {
		t.Setenv(name, "")
	}
	if seed, times, cases, soak := testenv.Seed(), testenv.Times(), testenv.Cases(300), testenv.Soak(); seed != 1 || times != 1 || cases != 300 || soak != 0 {
		t.Errorf("seed %d, times %d, %d cases, soak %v", seed, times, cases, soak)
	}
}

func TestSet(t *testing.T) {
	t.Setenv("SLUICE_SEED", "42")
	t.Setenv("SLUICE_TIMES", "10")
	t.Setenv("SLUICE_SOAK", "1m30s")
	if seed, times, cases, soak := testenv.Seed(), testenv.Times(), testenv.Cases(300), testenv.Soak(); seed != 42 || times != 10 || cases != 3_000 || soak != 90*time.Second {
		t.Errorf("seed %d, times %d, %d cases, soak %v", seed, times, cases, soak)
	}
	t.Setenv("SLUICE_CASES", "7")
	if cases := testenv.Cases(300); cases != 7 {
		t.Errorf("%d cases", cases)
	}
}

func TestUnreadable(t *testing.T) {
	for name, read := range map[string]func(){
		"SLUICE_SEED":  func() { testenv.Seed() },
		"SLUICE_CASES": func() { testenv.Cases(1) },
		"SLUICE_TIMES": func() { testenv.Times() },
		"SLUICE_SOAK":  func() { testenv.Soak() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "many")
			defer func() {
				if err, ok := recover().(error); !ok || !strings.HasPrefix(err.Error(), name+": ") {
					t.Errorf("panics with %v", err)
				}
			}()
			read()
			t.Error("no panic")
		})
	}
}

// A line of the list is a test, a seed and a case; what follows a # is a comment.
func TestFailed(t *testing.T) {
	const list = "# cases\n\nTestA 1 2\nTestB 3 4 # the reason\nTestA 5 6\n"
	all, err := testenv.Failed(list, "TestA")
	if err != nil || !slices.Equal(all, []testenv.Drawn{{Seed: 1, Case: 2}, {Seed: 5, Case: 6}}) {
		t.Errorf("%v, %v", all, err)
	}
	for _, wrong := range []string{"TestA 1", "TestA one 2", "TestA 1 -2", "TestA 1 2 3"} {
		if _, err := testenv.Failed("TestB 1 1\n"+wrong, "TestB"); err == nil || !strings.HasPrefix(err.Error(), "seeds.txt:2: found ") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// failing is a test that fails at a case.
type failing struct {
	testing.TB
	failed bool
	ends   []func()
	said   []string
}

func (f *failing) Name() string               { return "TestOracle" }
func (f *failing) Failed() bool               { return f.failed }
func (f *failing) Cleanup(end func())         { f.ends = append(f.ends, end) }
func (f *failing) Logf(s string, args ...any) { f.said = append(f.said, fmt.Sprintf(s, args...)) }

// Draws repeats what ever failed and then draws what it is asked for; the case at which a
// test fails goes into the file, once.
func TestDraws(t *testing.T) {
	file := filepath.Join(t.TempDir(), "seeds.txt")
	if err := os.WriteFile(file, []byte("# failed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SLUICE_RECORD", file)
	t.Setenv("SLUICE_SEED", "900000000")
	t.Setenv("SLUICE_SEEDS", "2")
	t.Setenv("SLUICE_CASES", "3")
	for range 2 {
		f, before := &failing{TB: t}, 0
		var drawn []testenv.Drawn
		for d := range testenv.Draws(f, 20_000) {
			if d.Seed < 900_000_000 {
				before++
				continue
			}
			if drawn = append(drawn, d); d.Seed == 900_000_001 && d.Case == 1 {
				f.failed = true
				break
			}
		}
		for _, end := range f.ends {
			end()
		}
		want := []testenv.Drawn{{Seed: 900_000_000}, {Seed: 900_000_000, Case: 1}, {Seed: 900_000_000, Case: 2}, {Seed: 900_000_001}, {Seed: 900_000_001, Case: 1}}
		if !slices.Equal(drawn, want) || before < 4 {
			t.Errorf("draws %v after %d that failed", drawn, before)
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != "# failed\nTestOracle 900000001 1\n" {
			t.Errorf("the file has %q, %v", text, err)
		}
	}
	passing := &failing{TB: t}
	for range testenv.Draws(passing, 1) {
	}
	passing.failed = true // later, by something else
	for _, end := range passing.ends {
		end()
	}
	if text, _ := os.ReadFile(file); strings.Count(string(text), "\n") != 2 {
		t.Errorf("the file has %q", text)
	}
}
