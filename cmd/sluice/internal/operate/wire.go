// Package operate is what sluice serve and sluice ctl say to each other on the admin
// address: the forms in JSON, and a client. docs/operating.md describes them.
package operate

import (
	_ "embed"
	"encoding/json"
	"time"
)

// OpenAPI describes the routes, as a document of OpenAPI 3.0 in YAML.
//
//go:embed openapi.yaml
var OpenAPI []byte

// Root is the path below which the routes are.
const Root = "/api/"

// AuthorHeader names the person who makes a change, beside the name of the token.
const AuthorHeader = "Sluice-Author"

// MostBody is how many bytes the body of a change may have.
const MostBody = 64 << 10

// Step is the state of a step, or of a key of it. Durations are texts as in 1m30s.
type Step struct {
	Policy    string   `json:"policy"`
	Step      string   `json:"step"`
	Mechanism string   `json:"mechanism"`
	Shadow    bool     `json:"shadow,omitempty"`
	Per       []string `json:"per,omitempty"`
	// Key of the state; without one a step with keys has their counts alone.
	Key []string `json:"key,omitempty"`
	// Own says that the key has a cell of its own.
	Own bool `json:"own,omitempty"`
	// Mode of a breaker, Since when it has been in that mode, where it changed since the start of
	// the process, and Left how long it stays open.
	Mode  string     `json:"mode,omitempty"`
	Since *time.Time `json:"since,omitempty"`
	Left  string     `json:"left,omitempty"`
	// Free permits or places, and after what time the next one is free.
	Free *uint32 `json:"free,omitempty"`
	Next string  `json:"next,omitempty"`
	// Waiting calls.
	Waiting int `json:"waiting,omitempty"`
	// Keys that have a cell, and Used of them differ from new ones.
	Keys int `json:"keys,omitempty"`
	Used int `json:"used,omitempty"`
	// Blocked is how long the key is blocked, BlockedKeys how many keys of the step are.
	Blocked     string          `json:"blocked,omitempty"`
	BlockedKeys int             `json:"blocked_keys,omitempty"`
	Text        string          `json:"text,omitempty"`
	Settings    json.RawMessage `json:"settings,omitempty"`
}

// Breaker is a breaker: of a step, or of a key of one that is not closed.
type Breaker struct {
	Policy string     `json:"policy"`
	Step   string     `json:"step"`
	Key    string     `json:"key,omitempty"`
	Mode   string     `json:"mode"`
	Since  *time.Time `json:"since,omitempty"`
	Left   string     `json:"left,omitempty"`
}

// BlockedKey is a key that is blocked.
type BlockedKey struct {
	Key  []string `json:"key"`
	Left string   `json:"left"`
}

// Change is the body of a change.
type Change struct {
	// Reason is why, for the log. It is required.
	Reason string `json:"reason"`
	// Key has a value for each attribute of per.
	Key []string `json:"key,omitempty"`
	// For is how long a block lasts, or an open breaker stays open.
	For string `json:"for,omitempty"`
	// Mode is where a transition goes.
	Mode string `json:"mode,omitempty"`
	// Settings replace the settings of the same names, in the form of the policy document.
	Settings map[string]json.RawMessage `json:"settings,omitempty"`
}

// Event is what happened at a step, or to a request.
type Event struct {
	// N numbers the kept events since the start of the process, and events of requests
	// since the start of a stream.
	N          uint64    `json:"n"`
	At         time.Time `json:"at"`
	Kind       string    `json:"kind"`
	Policy     string    `json:"policy"`
	Step       string    `json:"step,omitempty"`
	Key        string    `json:"key,omitempty"`
	Mode       string    `json:"mode,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	Outcome    string    `json:"outcome,omitempty"`
	Action     string    `json:"action,omitempty"`
	By         string    `json:"by,omitempty"`
	Why        string    `json:"why,omitempty"`
	Attempt    uint32    `json:"attempt,omitempty"`
	Wait       string    `json:"wait,omitempty"`
	RetryAfter string    `json:"retry_after,omitempty"`
	Shadow     bool      `json:"shadow,omitempty"`
	// Lost is how many events were left out before this one, because the reader was slow.
	Lost uint64 `json:"lost,omitempty"`
}

// Failure is the answer to what could not be done.
type Failure struct {
	Error string `json:"error"`
}
