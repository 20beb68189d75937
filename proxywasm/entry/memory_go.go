//go:build wasm && !tinygo.wasm

package main

// collect has nothing to do: Go's own collector runs when it wants to.
func collect() {}
