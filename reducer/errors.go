package reducer

import (
	"errors"
	"strconv"
	"time"
)

// ConfigError says which field of a configuration is wrong, what was found
// there, and what is allowed.
type ConfigError struct {
	Field   string // in the words of the policy document, as in "window.calls"
	Value   string // what was found
	Allowed string // what is allowed
}

// Error implements error.
func (e *ConfigError) Error() string {
	return e.Field + ": found " + e.Value + "; allowed: " + e.Allowed
}

// BadCount returns a ConfigError for a number.
//
//go:noinline
func BadCount(field string, found uint64, allowed string) error {
	if !ErrorTexts {
		return &ConfigError{Field: field}
	}
	return &ConfigError{Field: field, Value: strconv.FormatUint(found, 10), Allowed: allowed}
}

// BadDuration returns a ConfigError for a duration.
//
//go:noinline
func BadDuration(field string, found time.Duration, allowed string) error {
	if !ErrorTexts {
		return &ConfigError{Field: field}
	}
	return &ConfigError{Field: field, Value: found.String(), Allowed: allowed}
}

// BadShare returns a ConfigError for a share.
//
//go:noinline
func BadShare(field string, found Share, allowed string) error {
	if !ErrorTexts {
		return &ConfigError{Field: field}
	}
	return &ConfigError{Field: field, Value: found.String(), Allowed: allowed}
}

// ErrEncoding is wrapped by every error of a decoder.
var ErrEncoding = errors.New("not a state of this machine")

// ErrConfiguration is the error, beside ErrEncoding, of a decoder for a state that
// another configuration of the mechanism made. To use such a state, decode it by a
// machine of that configuration and Adopt it.
var ErrConfiguration = errors.New("made under another configuration")
