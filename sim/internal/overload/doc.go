// Package overload measures adaptive limits in the situations in which they are compared
// with each other: the table of the guide, and searches for better settings.
//
//	go run ./sim/internal/overload/table 'tolerance: 10%' 'tolerance: 20%'
//
// prints a row for each list of settings. Equal seeds give equal tables.
package overload
