package fallback_test

import (
	"testing"

	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/reducer"
)

func TestNew(t *testing.T) {
	for found, want := range map[int]string{
		0: "", 100: "", 503: "", 599: "",
		99:  "fallback.status: found 99; allowed 100 to 599",
		600: "fallback.status: found 600; allowed 100 to 599",
		-1:  "fallback.status: found 0; allowed 100 to 599",
	} {
		c, err := fallback.New(fallback.Config{Status: found, Body: "try later"})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("status %d: error %q, want %q", found, got, want)
		}
		if err == nil && (c.Body != "try later" || found != 0 && c.Status != found || found == 0 && c.Status != 503) {
			t.Errorf("status %d: became %+v", found, c)
		}
	}
}

// A fallback replaces failures, not successes, errors of the caller or cancelled
// calls.
func TestCovers(t *testing.T) {
	want := map[reducer.Outcome]bool{reducer.Fail: true, reducer.Throttle: true, reducer.Timeout: true}
	for o := reducer.Outcome(0); o <= reducer.Cancelled+1; o++ {
		if fallback.Covers(o) != want[o] {
			t.Errorf("%v: %v", o, fallback.Covers(o))
		}
	}
}
