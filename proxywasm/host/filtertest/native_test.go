package filtertest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
)

// native is the one policy of a document in this process, decided by the driver of the
// core.
type native struct {
	driver *drive.Driver
	keys   drive.Keys
}

func newNative(t testing.TB, document string) *native {
	t.Helper()
	doc, err := policy.Parse("p.json", []byte(document))
	require.NoError(t, err)
	plan, err := pipeline.Compile(doc.Policies[0].Policy)
	require.NoError(t, err)
	return &native{driver: drive.New(plan, 1)}
}

// outcome is what was decided about a request.
type outcome struct {
	passes     bool
	reason     string
	retryAfter time.Duration // -1 for none
}

// begin decides a request whose attributes all have the value key.
func (n *native) begin(now time.Duration, key string) (decision.Handle, outcome) {
	n.driver.Advance(clock.Mark(now))
	r := drive.Request{Cost: 1, Deadline: -1}
	r.Keys, r.Missing = n.keys.Of(n.driver.Plan(), func(string) string { return key }, n.driver.Uses)
	n.driver.Decisions = n.driver.Decisions[:0]
	h := n.driver.Begin(&r)
	for _, d := range n.driver.Decisions {
		switch {
		case d.Shadow:
		case d.Kind == decision.Admit:
			return h, outcome{passes: true, retryAfter: -1}
		case d.Kind == decision.Reject:
			return h, outcome{reason: d.Reason.String(), retryAfter: d.RetryAfter}
		}
	}
	panic("the request waits")
}

// done ends a request that passed.
func (n *native) done(now time.Duration, h decision.Handle, o reducer.Outcome) {
	n.driver.Advance(clock.Mark(now))
	n.driver.Done(h, drive.Result{Outcome: o})
}
