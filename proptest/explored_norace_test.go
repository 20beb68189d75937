//go:build !race

package proptest

const racing = false
