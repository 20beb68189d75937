// Package api defines the public data of package sluice: events, requests, states and errors.
//
// Package sluice has an alias for every type here, and programs use that name: an
// api.RejectedError is a sluice.RejectedError. The definitions are in a package of their own
// because the runner below package sluice makes the same values. The package imports the core
// alone and runs nothing.
package api
