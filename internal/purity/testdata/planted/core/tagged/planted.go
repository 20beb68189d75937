//go:build plan9

package tagged
