package eval

import (
	"errors"
	"strings"
	"testing"
)

// TestPolicyErrors checks that every error of a policy in the log has a line.
func TestPolicyErrors(t *testing.T) {
	err := (&run{decider: &native{}}).read([]byte(`{"at":0,"op":"configure","policy":{"steps":[{"limit":"1"},{"retry":0}]}}`))
	got := strings.Split((&LineError{Line: 12, Err: err}).Error(), "\n")
	if len(got) != 2 || !strings.HasPrefix(got[0], "line 12: policy: steps[0].limit: found ") || !strings.HasPrefix(got[1], "line 12: policy: steps[1].retry: found ") {
		t.Errorf("got %q", got)
	}
	if err := inline(errors.New("other")); err.Error() != "other" {
		t.Errorf("got %v", err)
	}
}
