package sluice

import "github.com/sluice-go/sluice/core/breaker"

// mode names the state of a breaker in an effect.
func mode(id uint64) string { return breaker.Mode(id).String() }
