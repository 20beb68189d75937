package filter

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/shared"
	"github.com/sluice-go/sluice/internal/secrets"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/proxywasm/abi"
	"github.com/sluice-go/sluice/reducer"
)

// recorder writes the calls of a root to the log of the proxy, as lines of a trace.
type recorder struct {
	root   *root
	number string // of the worker, another one for each
	seed   shared.Seed
	calls  uint64
	second uint32 // calls of this second
	lost   uint64 // calls since the last second that are not recorded
	line   []byte
}

// mostRecorded is how many calls of a worker are recorded in a second: the log of the proxy is
// written by the threads that serve.
const mostRecorded = 1000

// recordMark begins each line of a trace in the log, before the number of the worker.
const recordMark = "sluice: record: "

// newRecorder returns the recorder of a root whose document asks for one, nil for another one.
func newRecorder(r *root) *recorder {
	if r.doc.Proxy.Trace != document.TraceRecord {
		return nil
	}
	w := &recorder{root: r, number: strconv.FormatUint(uint64(nextRecorder()), 10), seed: processSeed()}
	w.line = append(append(w.line[:0], "began "...), strconv.FormatInt(int64(r.epoch()), 10)...)
	w.write()
	return w
}

// nextRecorder returns a number that no other recorder of the process has.
func nextRecorder() uint32 {
	next := uint32(0)
	count := func(old []byte, _ clock.Mark) []byte {
		if next = 1; len(old) == 4 {
			next += binary.LittleEndian.Uint32(old)
		}
		return binary.LittleEndian.AppendUint32(nil, next)
	}
	for !shared.Update(sharedData{}, []byte("sluice/recorders"), count) {
	}
	return next
}

// write writes the line.
func (w *recorder) write() { abi.Log(abi.Info, recordMark+w.number+" "+string(w.line)) }

// flush is called once a second.
func (w *recorder) flush() {
	if w == nil {
		return
	}
	w.second = 0
	if w.lost > 0 {
		w.line = append(append(w.line[:0], "lost "...), strconv.FormatUint(w.lost, 10)...)
		w.write()
		w.lost = 0
	}
}

// at begins a line with its mark.
func (w *recorder) at(mark time.Duration) {
	w.line = append(append(w.line[:0], `{"at":"`...), mark.String()...)
	w.line = append(w.line, '"')
}

// begin begins a line of a call.
func (w *recorder) begin(s *stream, mark time.Duration) {
	w.at(mark)
	w.line = append(append(w.line, `,"id":"`...), s.policy.Name...)
	w.line = append(append(append(w.line, '/'), w.number...), '.')
	w.line = append(strconv.AppendUint(w.line, s.recorded, 10), '"')
}

// entry appends a text of the line.
func (w *recorder) entry(name, value string) {
	w.line = append(append(append(w.line, `,"`...), name...), `":`...)
	w.line = appendText(w.line, value)
}

// end ends the line and writes it.
func (w *recorder) end() {
	w.line = append(w.line, '}')
	w.write()
}

// call records a request before it is decided.
func (w *recorder) call(s *stream, q *request) {
	if s.recorded = 0; w == nil {
		return
	}
	if w.second++; w.second > mostRecorded {
		w.lost++
		return
	}
	w.calls++
	s.recorded, s.came = w.calls, time.Duration(abi.Now())
	w.begin(s, s.came)
	w.entry("op", "call")
	if q.cost != 1 {
		w.line = strconv.AppendUint(append(w.line, `,"cost":`...), uint64(q.cost), 10)
	}
	before := `,"attributes":{`
	for _, name := range s.policy.attributes {
		value := q.lookup(name)
		switch {
		case value == "":
		case name == "key":
			// It is a field of its own.
		default:
			w.line = appendText(append(w.line, before...), name)
			w.line = appendText(append(w.line, ':'), w.hidden(name, value))
			before = ","
		}
	}
	if before == "," {
		w.line = append(w.line, '}')
	}
	for _, name := range s.policy.attributes {
		if value := q.lookup(name); name == "key" && value != "" {
			w.entry("key", w.hidden(w.root.key.attribute, value))
		}
	}
	w.end()
}

// hidden returns a value, or its hash where the attribute carries secrets, as a property of the
// proxy may: equal values have equal hashes, and the seed is known to the process alone.
func (w *recorder) hidden(name, value string) string {
	if !secrets.Attribute(name) && !strings.HasPrefix(name, "property:") {
		return value
	}
	h := w.seed.Of(value)
	return "hash:" + hex.EncodeToString(h[:8])
}

// decided records what was decided about a request, at once or after a wait.
func (w *recorder) decided(s *stream, v *verdict, waited bool) {
	if w == nil || s.recorded == 0 || v.what == waits {
		return
	}
	at := s.came
	if waited {
		// Time brought the decision: the reader of the events gets to know that it passed.
		at = time.Duration(abi.Now())
		w.at(at)
		w.entry("op", "tick")
		w.entry("id", s.policy.Name)
		w.end()
	}
	w.begin(s, at)
	switch {
	case v.what == passes:
		w.entry("decision", "admit")
		w.line = append(w.line, `,"attempt":1`...)
	case v.expired:
		w.entry("decision", "expire")
	default:
		w.entry("decision", "reject")
	}
	if v.what == refused {
		w.entry("step", s.policy.plan.StepName(v.step))
	}
	if v.reason != reducer.NoReason {
		w.entry("reason", v.reason.String())
	}
	if v.what == refused && v.after >= 0 {
		w.entry("retry_after", v.after.String())
	}
	w.end()
}

// ended records the end of a request that passed, or that left while it waited. It is told once,
// with the first outcome.
func (w *recorder) ended(s *stream, o reducer.Outcome, after time.Duration) {
	if w == nil || s.recorded == 0 {
		return
	}
	w.begin(s, time.Duration(abi.Now()))
	s.recorded = 0
	if o == reducer.Cancelled {
		w.entry("op", "cancel")
	} else {
		w.entry("op", "done")
		w.entry("outcome", o.String())
		if after > 0 {
			w.entry("retry_after", after.String())
		}
	}
	w.end()
}

// appendText appends a text as JSON. Bytes that are not UTF-8 become U+FFFD.
func appendText(dst []byte, text string) []byte {
	dst = append(dst, '"')
	for _, c := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', byte(c))
		case c < ' ':
			dst = append(dst, `\u00`...)
			dst = append(dst, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			dst = utf8.AppendRune(dst, c)
		}
	}
	return append(dst, '"')
}
