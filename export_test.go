package sluice

import (
	"unsafe"

	"github.com/sluice-go/sluice/clock"
)

// AttemptSize is the size of the context of an attempt.
const AttemptSize = unsafe.Sizeof(attempt{})

// Now returns the mark that a runner without a source of its own reads now.
func Now() clock.Mark { return (&settings{}).now() }
