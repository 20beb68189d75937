//go:build race

package proptest

// racing: the race detector makes a step ten times as slow.
const racing = true
