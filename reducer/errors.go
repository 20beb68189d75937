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
	return e.Field + ": found " + e.Value + "; allowed " + e.Allowed
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

// ConfigErrors collects what is wrong with a configuration, a ConfigError for each field.
type ConfigErrors []error

// Count adds the error of a number that is wrong.
//
//go:noinline
func (e *ConfigErrors) Count(wrong bool, field string, found uint64, allowed string) {
	if wrong {
		*e = append(*e, BadCount(field, found, allowed))
	}
}

// Duration adds the error of a duration that is wrong.
//
//go:noinline
func (e *ConfigErrors) Duration(wrong bool, field string, found time.Duration, allowed string) {
	if wrong {
		*e = append(*e, BadDuration(field, found, allowed))
	}
}

// Share adds the error of a share that is wrong.
//
//go:noinline
func (e *ConfigErrors) Share(wrong bool, field string, found Share, allowed string) {
	if wrong {
		*e = append(*e, BadShare(field, found, allowed))
	}
}

// Within adds the error of a number that is less than the least one or more than the most.
//
//go:noinline
func (e *ConfigErrors) Within(field string, found, least, most uint32) {
	if found >= least && found <= most {
		return
	}
	allowed := ""
	if ErrorTexts {
		allowed = strconv.FormatUint(uint64(least), 10) + " to " + strconv.FormatUint(uint64(most), 10)
		if least == 0 {
			allowed = "at most " + strconv.FormatUint(uint64(most), 10)
		}
	}
	e.Count(true, field, uint64(found), allowed)
}

// Lasts adds the error of a duration that is less than the least one, which is 0 or 1.
//
//go:noinline
func (e *ConfigErrors) Lasts(field string, found, least time.Duration) {
	if found >= least {
		return
	}
	allowed := "0 or more"
	if least > 0 {
		allowed = "more than 0"
	}
	e.Duration(true, field, found, allowed)
}

// PartOf adds the error of a share that is less than the least one, which is 0 or 1, or more than
// the most, both in millionths.
//
//go:noinline
func (e *ConfigErrors) PartOf(field string, found Share, least, most uint32) {
	if n := found.Millionths(); n >= least && n <= most {
		return
	}
	allowed := ""
	if ErrorTexts {
		allowed = "at most " + Millionths(most).String()
		if least > 0 {
			allowed = "more than 0% and " + allowed
		}
	}
	e.Share(true, field, found, allowed)
}

// Add adds the errors that Err of other ConfigErrors returned, or one error.
func (e *ConfigErrors) Add(err error) {
	switch several, ok := err.(interface{ Unwrap() []error }); {
	case ok:
		*e = append(*e, several.Unwrap()...)
	case err != nil:
		*e = append(*e, err)
	}
}

// Err returns the errors as one: nil for none, the only one as it is, several as
// errors.Join does, whose Unwrap returns them in their order.
func (e ConfigErrors) Err() error {
	if len(e) == 1 || len(e) > 1 && !ErrorTexts {
		return e[0]
	}
	return errors.Join(e...)
}

// ErrEncoding is wrapped by every error of a decoder.
var ErrEncoding = errors.New("not a state of this machine")

// ErrConfiguration is the error, beside ErrEncoding, of a decoder for a state that
// another configuration of the mechanism made. To use such a state, decode it by a
// machine of that configuration and let this one Inherit it.
var ErrConfiguration = errors.New("made under another configuration")
