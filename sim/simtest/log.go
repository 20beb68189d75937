package simtest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/sim/engine"
)

// maxLines is the most lines of a log, so that a report of a long run stays a file
// that editors open.
const maxLines = 100_000

// lines returns the events of a run, one a line: the mark, what does something, and
// what it does. Calls are named by their client and number, attempts by a number
// behind them.
func (v *view) lines() []string {
	var all []string
	decided := map[string]bool{} // clients whose policy says how a call ends
	var last engine.Event
	v.replay(func(e *engine.Event) {
		before := last
		last = *e
		if e.Kind == engine.EventStart && before.Kind == engine.EventArrival && e.At == before.At && e.Service == before.Service &&
			e.Client == before.Client && e.Number == before.Number && e.Attempt == before.Attempt {
			return // a server was free
		}
		if e.Kind == engine.EventDecision && e.Process == e.Client && e.Decision.Kind != decision.Change {
			decided[e.Client] = true
		}
		if e.Kind == engine.EventEnd && decided[e.Client] || len(all) == maxLines {
			return
		}
		who, what := sentence(e)
		all = append(all, fmt.Sprintf("%14s  %-12s  %s", time.Duration(e.At), who, what))
	})
	return all
}

// sentence returns who does what.
func sentence(e *engine.Event) (who, what string) {
	call := e.Client + "#" + strconv.FormatUint(e.Number, 10)
	attempt := call + "." + strconv.FormatUint(uint64(e.Attempt), 10)
	switch e.Kind {
	case engine.EventCall:
		return call, "calls"
	case engine.EventDecision:
		d := e.Decision
		if d.Kind == decision.Change {
			return e.Process, "breaker " + d.Step + " is " + breaker.Mode(d.Mode).String()
		}
		if e.Process == e.Client {
			return call, decided(d)
		}
		return e.Process, call + ": " + decided(d)
	case engine.EventArrival:
		return e.Service, attempt + " arrives"
	case engine.EventStart:
		return e.Service, attempt + " starts"
	case engine.EventDrop:
		return e.Service, attempt + " is dropped: the queue is full"
	case engine.EventAnswer:
		what = attempt + " is answered " + e.Outcome.String()
		if e.Wasted {
			what += ", when its caller has given up"
		}
		return e.Service, what
	case engine.EventFault:
		return e.Service, "fault " + strconv.Itoa(e.Fault+1) + " begins"
	case engine.EventRepair:
		return e.Service, "fault " + strconv.Itoa(e.Fault+1) + " ends"
	}
	if e.Refused {
		return call, "ends refused by " + e.Step + ": " + e.Reason.String()
	}
	return call, "ends " + e.Outcome.String()
}

// decided returns a decision as a phrase.
func decided(d *decision.Decision) string {
	var b strings.Builder
	if d.Shadow {
		b.WriteString("in shadow: ")
	}
	b.WriteString(d.Kind.String())
	switch d.Kind {
	case decision.End:
		b.WriteString(" " + d.Outcome.String())
	case decision.Reject, decision.Expire:
	default:
		b.WriteString(" attempt " + strconv.FormatUint(uint64(d.Attempt), 10))
	}
	if d.Step != "" {
		b.WriteString(" by " + d.Step)
	}
	if d.Reason != 0 {
		b.WriteString(": " + d.Reason.String())
	}
	if (d.Kind == decision.Wait || d.Kind == decision.Retry) && d.Until != clock.Never {
		b.WriteString(", until " + time.Duration(d.Until).String())
	}
	if d.Kind == decision.Reject && d.RetryAfter >= 0 {
		b.WriteString(", retry after " + d.RetryAfter.String())
	}
	return b.String()
}
