package trace_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/trace"
)

// TestReader reads each kind of line, and goes on behind lines that cannot be read.
func TestReader(t *testing.T) {
	body := []byte(`{"steps":[{"limit":"1/1s"}]}`)
	head := trace.Header{Version: trace.Version, Policy: "api", Prefixed: true, Began: time.Date(2026, 11, 22, 9, 30, 0, 5, time.UTC), Seed: 1<<64 - 1, Digest: trace.Digest(body), Sample: 0.5, Redact: "all", Body: body}
	end := trace.End{Version: trace.Version, End: "1m0s", Calls: 1, Lines: 2, LostCalls: 3, LostLines: 4}
	src := "\ufeff" + string(head.Append(nil)) + "\n" +
		`{"at":"1s","op":"call","id":"api/1","key":"{\"trace\":1}"}` + "\r\n" +
		`{"at":"1s","id":"api/1","decision":"reject","step":"limit","reason":"rate","retry_after":"500ms","shadow":true}` + "\n" +
		`{"at":"1s","id":"api/1","decision":"wait","attempt":1,"step":"limit","until":"2s"}` + "\n" +
		"nothing\n" +
		`{"trace":2}` + "\n" +
		`{"at":"1s","decision":7}` + "\n" +
		`{"at":"x","decision":"admit"}` + "\n" +
		string(end.Append(nil))
	r := trace.NewReader(strings.NewReader(src))
	var got []string
	for {
		line, err := r.Next()
		var bad *trace.LineError
		switch {
		case errors.Is(err, io.EOF):
			assert.Equal(t, []string{"header 1", "event 3", "reject 4", "wait 5", "bad 6", "bad 7", "bad 8", "bad 9", "end 10"}, got)
			return
		case errors.As(err, &bad):
			got = append(got, fmt.Sprint("bad ", bad.Line))
			assert.ErrorContains(t, err, fmt.Sprint("line ", bad.Line, ": "))
			assert.Error(t, errors.Unwrap(err))
		case line.Header != nil:
			assert.Equal(t, head, *line.Header)
			got = append(got, fmt.Sprint("header ", line.Number))
		case line.End != nil:
			assert.Equal(t, end, *line.End)
			got = append(got, fmt.Sprint("end ", line.Number))
		case line.Event != nil:
			assert.Equal(t, clock.Mark(time.Second), line.Event.At)
			assert.Equal(t, `{"trace":1}`, line.Event.Key)
			got = append(got, fmt.Sprint("event ", line.Number))
		default:
			require.NoError(t, err)
			d := line.Decision
			if d.Decision == "reject" {
				assert.Equal(t, trace.Decision{At: time.Second, ID: `"api/1"`, Decision: "reject", Step: "limit", Reason: "rate", RetryAfter: 500 * time.Millisecond, Shadow: true}, *d)
			} else {
				assert.Equal(t, trace.Decision{At: time.Second, ID: `"api/1"`, Decision: "wait", Attempt: 1, Step: "limit", Until: 2 * time.Second, RetryAfter: -1}, *d)
			}
			got = append(got, fmt.Sprint(d.Decision, " ", line.Number))
		}
	}
}

// TestReaderEnds ends at a line that is too long, and at an error of the source.
func TestReaderEnds(t *testing.T) {
	_, err := trace.NewReader(strings.NewReader(strings.Repeat("x", trace.MaxLine+1))).Next()
	assert.EqualError(t, err, fmt.Sprintf("line 1: longer than %d bytes", trace.MaxLine))
	reader, writer := io.Pipe()
	writer.CloseWithError(io.ErrClosedPipe)
	_, err = trace.NewReader(reader).Next()
	assert.ErrorIs(t, err, io.ErrClosedPipe)
}
