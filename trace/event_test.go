package trace_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/trace"
)

func TestReadEvent(t *testing.T) {
	for src, want := range map[string]trace.Event{
		`{"at":"1s","op":"call","id":"\u0061","key":"k","cost":2,"attributes":{"Header:X":"v"},"deadline":"5s"}`: {
			At: clock.Mark(time.Second), Op: "call", ID: `"a"`, Key: "k", Cost: 2, Attributes: map[string]string{"Header:X": "v"}, Deadline: 5 * time.Second,
		},
		`{"at":3,"op":"done","id":7,"outcome":"fail","attempt":2,"retry_after":"-1ns"}`: {
			At: 3, Op: "done", ID: "7", Outcome: reducer.Fail, Attempt: 2, Told: true, RetryAfter: -1,
		},
		`{"at":3,"op":"tick","id":"api"}`:                              {At: 3, Op: "tick", ID: `"api"`},
		`{"at":3,"op":"configure","policy":{"steps":[{"limit":"1"}]}}`: {At: 3, Op: "configure", Policy: []byte(`{"steps":[{"limit":"1"}]}`)},
	} {
		got, err := trace.ReadEvent([]byte(src))
		require.NoError(t, err, src)
		assert.Equal(t, want, got, src)
	}
	call := trace.Event{Key: "k", Attributes: map[string]string{"header:X": "v"}}
	assert.Equal(t, "k v ", call.Lookup("key")+" "+call.Lookup("header:x")+" "+call.Lookup("ip"))
	_, err := trace.ReadEvent([]byte(`{"at":3,"op":"cal"}`))
	assert.ErrorContains(t, err, `op: found "cal"`)
}
