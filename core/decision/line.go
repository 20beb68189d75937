package decision

import (
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
)

// AppendLine appends the line of the decision log, with its line end: a JSON object
// whose fields are in the order of eval/REFERENCE.md#decisions, so that equal decisions
// give equal bytes. The id is the id of the call as JSON; it is empty for a decision that
// concerns no call.
func AppendLine(dst []byte, id string, d *Decision) []byte {
	dst = AppendHead(dst, d.At, id, d.Kind.String())
	switch d.Kind {
	case Admit:
		if dst = appendAttempt(dst, d); d.Reason != 0 {
			dst = appendField(dst, "reason", d.Reason.String())
		}
	case Cancel:
		dst = appendAttempt(dst, d)
	case Failed:
		dst = appendField(appendAttempt(dst, d), "reason", d.Reason.String())
	case Drop:
		dst = appendField(appendField(appendAttempt(dst, d), "step", d.Step), "reason", d.Reason.String())
	case Inject:
		if d.Outcome != 0 {
			dst = appendField(dst, "outcome", d.Outcome.String())
		}
		dst = appendField(appendAttempt(dst, d), "step", d.Step)
	case Wait, Timeout, Lapse, Hedge, Start:
		dst = appendField(appendAttempt(dst, d), "step", d.Step)
	case Clamped:
		dst = appendField(dst, "step", d.Step)
		dst = strconv.AppendUint(append(dst, `,"dropped":`...), d.Dropped, 10)
	case Reject, Expire:
		dst = appendField(appendField(dst, "step", d.Step), "reason", d.Reason.String())
	case Retry:
		dst = appendField(appendAttempt(dst, d), "reason", d.Reason.String())
	case End:
		dst = appendAttempt(appendField(dst, "outcome", d.Outcome.String()), d)
		if d.Reason != 0 {
			dst = appendField(dst, "reason", d.Reason.String())
		}
	}
	if d.Won > 0 {
		dst = strconv.AppendUint(append(dst, `,"won":`...), uint64(d.Won), 10)
	}
	if (d.Kind == Wait || d.Kind == Retry || d.Kind == Inject) && d.Until != clock.Never {
		dst = appendField(dst, "until", time.Duration(d.Until).String())
	}
	if (d.Kind == Reject || d.Kind == Inject) && d.RetryAfter >= 0 {
		dst = appendField(dst, "retry_after", d.RetryAfter.String())
	}
	if d.Shadow {
		dst = append(dst, `,"shadow":true`...)
	}
	if d.Fallback {
		dst = append(dst, `,"fallback":true`...)
	}
	if d.State != "" {
		dst = appendField(dst, "state", d.State)
	}
	return append(dst, '}', '\n')
}

func appendAttempt(dst []byte, d *Decision) []byte {
	return strconv.AppendUint(append(dst, `,"attempt":`...), uint64(d.Attempt), 10)
}

// appendField writes a value that needs no escape.
func appendField(dst []byte, name, value string) []byte {
	dst = append(append(append(dst, ',', '"'), name...), `":"`...)
	return append(append(dst, value...), '"')
}

// AppendHead appends the beginning of a line: an object with the mark, the id where it
// is not empty, and the word of a decision, without its end.
func AppendHead(dst []byte, at clock.Mark, id, decision string) []byte {
	dst = append(dst, `{"at":"`...)
	dst = append(dst, time.Duration(at).String()...)
	if id != "" {
		dst = append(dst, `","id":`...)
		dst = append(dst, id...)
		dst = append(dst, `,"decision":"`...)
	} else {
		dst = append(dst, `","decision":"`...)
	}
	dst = append(dst, decision...)
	return append(dst, '"')
}
