package testenv_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/testenv"
)

func TestUnset(t *testing.T) {
	for _, name := range []string{"SLUICE_SEED", "SLUICE_CASES", "SLUICE_TIMES", "SLUICE_SOAK"} {
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
