package assert_test

import (
	"errors"
	"os"
	"testing"

	"github.com/sluice-go/sluice/core/internal/assert"
)

// The scripts that run all tests set SLUICE_ASSERT beside the build tag: without the tag no
// test would check an assertion, and none would say so.
func TestScriptsSwitchOn(t *testing.T) {
	if os.Getenv("SLUICE_ASSERT") != "" && !assert.On {
		t.Error("the tests run without the build tag sluice_assert; tests() in tools/common.sh sets it")
	}
}

func TestPanics(t *testing.T) {
	panics := func(f func()) (what any) {
		defer func() { what = recover() }()
		f()
		return nil
	}
	for _, c := range []struct {
		f    func()
		want any
	}{
		{func() { assert.That(true, "one") }, nil},
		{func() { assert.That(false, "one") }, "assertion: one"},
		{func() { assert.Sound(nil) }, nil},
		{func() { assert.Sound(errors.New("two")) }, "assertion: two"},
	} {
		if got := panics(c.f); got != c.want {
			t.Errorf("panics with %v, not %v", got, c.want)
		}
	}
}
