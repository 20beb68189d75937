// Package fused has a product that is not rounded before it is added, so that the test
// of package sim finds one.
package fused

// Line returns a point of a line.
func Line(slope, x, start float64) float64 { return slope*x + start }
