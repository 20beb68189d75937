package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/sony/gobreaker/v2"

	"github.com/sluice-go/sluice"
)

// Every contender performs the operation of its case once, or panics.
func TestCases(t *testing.T) {
	for _, s := range cases() {
		for _, c := range s.tasks {
			t.Run(c.name, func(t *testing.T) {
				r := c.measure(options{repeat: 1, each: 1})
				if len(r.others) != len(c.peers) {
					t.Fatalf("measured %v", r.others)
				}
				for _, f := range append(r.others, r.own) {
					if f.value <= 0 && c.unit == "" {
						t.Errorf("measured %v and %v", r.own, r.others)
					}
				}
			})
		}
	}
}

// A limiter admits its quota and no more. A limiter without a burst admits one.
func TestLimitersLimit(t *testing.T) {
	for _, l := range limiters[:len(limiters)-1] {
		want := 3
		if strings.Contains(l.name, "smooth") {
			want = 1
		}
		if got := admitted(l.make(quota{3, 24 * time.Hour})(t.Context())); got != want {
			t.Errorf("%s admits %d, not %d", l.name, got, want)
		}
	}
	if got := admitted(ourLimiter(quota{3, 24 * time.Hour})(t.Context())); got != 3 {
		t.Errorf("Sluice admits %d", got)
	}
	before := time.Now()
	blocking := uberLimiter(quota{1, time.Millisecond})(t.Context())
	blocking()
	if blocking(); time.Since(before) < time.Millisecond {
		t.Error("uber ratelimit does not block")
	}
}

func admitted(allow func() bool) (n int) {
	for range 10 {
		if allow() {
			n++
		}
	}
	return n
}

// A limiter with keys does so for each key.
func TestKeyedLimitersLimit(t *testing.T) {
	for _, p := range slices.Concat(heldPeers, newPeers, []keyedPeer{{"Sluice", ourKeyed(2), 0}}) {
		allow := p.make(t.Context(), heldEvery, 3)
		for _, key := range []string{"a", "b"} {
			if got := admitted(func() bool { return allow(key) }); got != 3 {
				t.Errorf("%s admits %d for key %s", p.name, got, key)
			}
		}
	}
}

// A bulkhead has its places and no more, and a released place is free.
func TestBulkheadsBound(t *testing.T) {
	for name, make := range map[string]trier{"Sluice": ourTry, "x/sync/semaphore": semaphoreTry, "failsafe-go": failsafeTry} {
		try := make(3)
		if !try(true) {
			t.Errorf("%s refuses when empty", name)
		}
		if got := admitted(func() bool { return try(false) }); got != 3 {
			t.Errorf("%s admits %d", name, got)
		}
	}
}

// A refusal has the reason of its case.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		make refuser
		want error
	}{
		"Sluice breaker":       {ourOpen, sluice.ErrRejected},
		"Sluice pass":          {ourOpenPass, sluice.ErrRejected},
		"Sluice bulkhead":      {ourFull, sluice.ErrRejected},
		"Sluice pipeline":      {ourPipelineRefused, sluice.ErrRejected},
		"gobreaker":            {goOpen, gobreaker.ErrOpenState},
		"gobreaker two-step":   {goOpenTwoStep, gobreaker.ErrOpenState},
		"failsafe-go breaker":  {failsafeOpen, circuitbreaker.ErrOpen},
		"failsafe-go permit":   {failsafeOpenPermit, circuitbreaker.ErrOpen},
		"failsafe-go pipeline": {failsafePipelineRefused, ratelimiter.ErrExceeded},
	} {
		use := c.make(t.Context())
		for i := range 1_000 { // a window of 100 calls would have opened by now
			if err := use(); !errors.Is(err, c.want) {
				t.Fatalf("%s: call %d: %v, not %v", name, i, err, c.want)
			}
		}
	}
	var rejected *sluice.RejectedError
	if err := ourPipelineRefused(t.Context())(); !errors.As(err, &rejected) || rejected.Step != "limit" {
		t.Errorf("refused by %v, not by the limit", err)
	}
}

// Work that fails twice succeeds at the third attempt, in every call; work that fails
// three times does not.
func TestRetriesRetry(t *testing.T) {
	for name, make := range map[string]retrying{"Sluice": ourRetry, "go-retry": sethvargoRetry, "backoff": cenkaltiRetry, "retry-go": avastRetry, "failsafe-go": failsafeRetry} {
		use := make(0, 2)(t.Context())
		use()
		use()
		if !panics(make(0, 3)(t.Context())) {
			t.Errorf("%s makes more than three attempts", name)
		}
	}
}

func panics(use func()) (did bool) {
	defer func() { did = recover() != nil }()
	use()
	return
}

// All keys are drawn, and the first few most often.
func TestZipf(t *testing.T) {
	counts := make([]int, 1_000)
	for _, key := range zipf(len(counts)) {
		counts[key]++
	}
	if slices.Contains(counts, 0) || counts[0] < 100*counts[len(counts)-1] {
		t.Errorf("drawn %v", counts)
	}
}

// timed counts the calls of every goroutine.
func TestTimed(t *testing.T) {
	var one, other int
	f := timed(options{each: time.Millisecond}, []func(){func() { one++ }, func() { other++ }})
	if one == 0 || other == 0 || f.value <= 0 || f.value > 1e6 {
		t.Errorf("measured %v of %d and %d calls", f, one, other)
	}
}

func TestRun(t *testing.T) {
	var stdout, stderr strings.Builder
	if err := run([]string{"-run", "^limiter allow$", "-time", "1us", "-repeat", "1"}, &stdout, &stderr); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	if len(lines) < 9 || !strings.Contains(lines[1], "x/time/rate") || !strings.Contains(lines[1], ">= 2.2x, allocs <= 0") {
		t.Errorf("printed\n%s", stdout.String())
	}
	for _, args := range [][]string{{"-run", "("}, {"-repeat", "0"}, {"left"}, {"-unknown"}} {
		if err := run(args, &stdout, &stderr); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

var sample = []measured{{section: section{title: "Some", about: "Of them."}, rows: []row{
	{task: task{name: "a", allocs: 0, peers: []peer{{name: "p", target: 2}}}, own: figure{value: 10}, others: []figure{{value: 15, bytes: 8, allocs: 1}}},
	{task: task{name: "b", allocs: -1}, own: figure{value: 1000, allocs: 3}},
	{task: task{name: "c", allocs: -1, most: 64, unit: "B", peers: []peer{{name: "p"}}}, own: figure{value: 32}, others: []figure{{value: 48}}},
}}}

func TestResults(t *testing.T) {
	o := options{repeat: 7, each: time.Second, only: regexp.MustCompile("")}
	page := results(sample, o, "go run ./bench")
	for _, want := range []string{
		"## Some\n\nOf them.\n",
		"| a | 10.0 ns | 0 | 0 | p | 15.0 ns | 8 | 1 | 1.50x | >= 2x, allocs <= 0 (missed) |",
		"| b | 1000 ns | 0 | 3 | - | - | - | - | - | - |",
		"| c | 32.0 B | - | - | p | 48.0 B | - | - | 1.50x | <= 64 B |",
		"`go run ./bench`", "- Machine: ", "medians of 7 repetitions of 1s",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing in\n%s", want, page)
		}
	}
	if printed := table(sample); !strings.HasSuffix(printed, "\nmissed: a: 10.0 ns (allocs 0) beside p: 15.0 ns, ratio 1.50x, target >= 2x, allocs <= 0\n") {
		t.Errorf("printed\n%s", printed)
	}
}

// RESULTS.md has the present cases, and README shows the figures of RESULTS.md.
func TestResultsAreOfTheseCases(t *testing.T) {
	page := read(t, "RESULTS.md")
	for _, s := range cases() {
		for _, c := range s.tasks {
			for _, p := range c.peers {
				if find(page, [2]string{c.name, p.name}) == nil {
					t.Errorf("%s beside %s is missing; run make bench", c.name, p.name)
				}
			}
		}
	}
	readme := read(t, filepath.Join("..", "README.md"))
	if again, err := highlighted(readme, page); err != nil || again != readme {
		t.Errorf("README.md has other figures than RESULTS.md; run make bench (%v)", err)
	}
}

// The run writes both, and does not change the rest of README.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	o := options{output: filepath.Join(dir, "RESULTS.md"), readme: filepath.Join(dir, "README.md")}
	page := read(t, "RESULTS.md")
	var stderr strings.Builder
	for _, c := range []struct {
		before string
		fails  bool
	}{{"# A\n\n" + blockBegin + "old\n" + blockEnd + "\n\nb\n", false}, {"# A\n", true}} {
		if err := os.WriteFile(o.readme, []byte(c.before), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := write(o, page, &stderr); (err != nil) != c.fails {
			t.Fatalf("%q: %v", c.before, err)
		}
		after := read(t, o.readme)
		if !c.fails && (!strings.HasPrefix(after, "# A\n\n"+blockBegin+"| case |") || !strings.HasSuffix(after, "|\n"+blockEnd+"\n\nb\n") || strings.Contains(after, "old")) {
			t.Errorf("written\n%s", after)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}
