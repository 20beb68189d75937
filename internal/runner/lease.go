package runner

import (
	"context"
	"math/bits"
	"sync/atomic"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/recording"
	"github.com/sluice-go/sluice/reducer"
)

// Renew is Renew of the public package.
func Renew(ctx context.Context) bool {
	l, _ := ctx.Value(leasesKey{}).(*leases)
	return l != nil && l.renew()
}

type leasesKey struct{}

// leases are the places of an attempt that are held under a lease.
type leases struct {
	ended  atomic.Bool // nothing is held any more
	held   []lease
	one    [1]lease // room of held
	traced *recording.Call
	number uint32 // of the attempt
}

type lease struct {
	cell   cellRef
	permit reducer.Permit
}

// leasable returns the steps whose places may have a lease, as a mask. A step may
// have got one by Configure while the call waited there.
func (r *run) leasable() uint16 {
	mask := r.layout.leases
	if r.p.layout.Load() != r.layout {
		for i, c := range r.layout.steps {
			if c != nil && c.leased.Load() {
				mask |= 1 << i
			}
		}
	}
	return mask
}

// lease notes the leases of the attempt k.
func (r *run) lease(k uint8, l *leases) {
	l.held, l.traced, l.number = l.one[:0], r.traced, r.call.NumberOf(k)
	plan := r.layout.plan
	for left := r.leasable(); left != 0; left &= left - 1 {
		i := bits.TrailingZeros16(left)
		if plan.Holds(&r.call, k, uint8(i+1), uint8(i)) != 0 {
			l.held = append(l.held, lease{r.cell(k, i), plan.PermitOf(&r.call, k, i)})
		}
	}
}

// renew restarts the leases, and reports whether all of them were still held.
func (l *leases) renew() bool {
	if len(l.held) == 0 || l.ended.Load() {
		return false
	}
	l.traced.Renew(l.held[0].cell.now(), l.number)
	ok := true
	for _, x := range l.held {
		if x.cell.Step(reducer.Action{Kind: reducer.Renew, Permit: x.permit}, x.cell.now()).Verdict != reducer.Done {
			ok = false // and the leases of the other steps go on
		}
	}
	return ok
}

// leased returns the steps whose places have a lease, as a mask.
func leased(plan *pipeline.Plan) (mask uint16) {
	for i := range plan.Len() {
		if hasLease(plan.Step(i)) {
			mask |= 1 << i
		}
	}
	return mask
}
