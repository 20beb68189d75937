package trace

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"
)

// Version is the version of the format that this package reads and the runner writes.
const Version = 1

// Header describes a policy of a trace. A trace has one for each of its policies.
type Header struct {
	// Version of the format.
	Version int `json:"trace"`
	// Policy is the name of the policy, empty for one without a name.
	Policy string `json:"policy"`
	// Prefixed says that the ids of the policy's lines begin with its name and a
	// slash, as in "vendor/7", because the trace has several policies.
	Prefixed bool `json:"prefixed,omitempty"`
	// Began is the wall time of mark 0.
	Began time.Time `json:"began"`
	// Seed is the --seed with which `sluice eval` gives the calls of the trace the
	// jitter that they had. It holds for a trace of all calls.
	Seed uint64 `json:"seed,string"`
	// Digest is the digest of Body, see Digest.
	Digest string `json:"digest"`
	// Sample is the share of the keys that are in the trace, 1 for all.
	Sample float64 `json:"sample"`
	// Redact is what is replaced by hashes: secrets, all or none.
	Redact string `json:"redact"`
	// Body is the body of the policy in JSON, which is active before the first line.
	Body json.RawMessage `json:"body"`
}

// Digest returns a hash of the body of a policy: FNV-1a with 64 bits, in hexadecimal.
// It finds differences and is not cryptographic.
func Digest(body []byte) string {
	h := fnv.New64a()
	// A hash accepts all bytes.
	_, _ = h.Write(body)
	return fmt.Sprintf("%016x", h.Sum64())
}

// Append appends the header as a line.
func (h *Header) Append(dst []byte) []byte { return appendLine(dst, h) }

// End is the last line of a trace that was stopped.
type End struct {
	Version int `json:"trace"`
	// End is the mark at which the trace was stopped.
	End string `json:"end"`
	// Calls and Lines are how many calls and lines were recorded, Calls by their event
	// call, Lines without headers and this line.
	Calls uint64 `json:"calls"`
	Lines uint64 `json:"lines"`
	// LostCalls is how many calls are missing altogether because the buffer or the file
	// was full, LostLines how many lines of other calls.
	LostCalls uint64 `json:"lost_calls"`
	LostLines uint64 `json:"lost_lines"`
}

// Append appends the last line.
func (e *End) Append(dst []byte) []byte { return appendLine(dst, e) }

func appendLine(dst []byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		// Both lines have numbers, texts and JSON alone.
		panic("trace: " + err.Error())
	}
	return append(append(dst, text...), '\n')
}
