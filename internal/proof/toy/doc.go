// Package toy adds a mechanism by the list of CONTRIBUTING.md and uses it from the
// document to the report, so that the list stays true.
package toy
