package eval

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
)

// write writes the decisions of the event.
func (r *run) write() error {
	list := r.decider.decisions()
	r.text = r.text[:0]
	for i := range list {
		d := &list[i]
		r.text = r.appendDecision(r.text, d)
		if d.Last {
			delete(r.live, r.ids[d.Call.Slot()])
		}
	}
	clear(list)
	_, err := r.out.Write(r.text)
	return err
}

func (r *run) stale(id string) error {
	r.text = appendHead(r.text[:0], r.now, id, "stale")
	r.text = append(r.text, '}', '\n')
	_, err := r.out.Write(r.text)
	return err
}

func appendHead(dst []byte, at clock.Mark, id, decision string) []byte {
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

// appendDecision writes the fields in the order of eval/REFERENCE.md#decisions, so that
// equal input gives equal bytes.
func (r *run) appendDecision(dst []byte, d *decision.Decision) []byte {
	id := ""
	if d.Kind != decision.Configured {
		id = r.ids[d.Call.Slot()]
	}
	dst = appendHead(dst, d.At, id, d.Kind.String())
	switch d.Kind {
	case decision.Admit:
		dst = appendAttempt(dst, d)
	case decision.Cancel:
		dst = appendAttempt(dst, d)
	case decision.Failed:
		dst = appendField(appendAttempt(dst, d), "reason", d.Reason.String())
	case decision.Drop:
		dst = appendField(appendField(appendAttempt(dst, d), "step", d.Step), "reason", d.Reason.String())
	case decision.Wait, decision.Timeout, decision.Lapse, decision.Hedge:
		dst = appendField(appendAttempt(dst, d), "step", d.Step)
	case decision.Reject, decision.Expire:
		dst = appendField(appendField(dst, "step", d.Step), "reason", d.Reason.String())
	case decision.Retry:
		dst = appendField(appendAttempt(dst, d), "reason", d.Reason.String())
	case decision.End:
		dst = appendAttempt(appendField(dst, "outcome", d.Outcome.String()), d)
		if d.Reason != 0 {
			dst = appendField(dst, "reason", d.Reason.String())
		}
	}
	if d.Won > 0 {
		dst = strconv.AppendUint(append(dst, `,"won":`...), uint64(d.Won), 10)
	}
	if (d.Kind == decision.Wait || d.Kind == decision.Retry) && d.Until != clock.Never {
		dst = appendField(dst, "until", time.Duration(d.Until).String())
	}
	if d.Kind == decision.Reject && d.RetryAfter >= 0 {
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

func appendAttempt(dst []byte, d *decision.Decision) []byte {
	return strconv.AppendUint(append(dst, `,"attempt":`...), uint64(d.Attempt), 10)
}

// appendField writes a value that needs no escape.
func appendField(dst []byte, name, value string) []byte {
	dst = append(append(append(dst, ',', '"'), name...), `":"`...)
	return append(append(dst, value...), '"')
}

// appendString writes a string as JSON does, with <, > and & as they are.
func appendString(dst []byte, text string) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		return dst
	}
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte{'\n'})...)
}
