//go:build tinygo.wasm

package main

import "github.com/sluice-go/sluice/wasm/heap"

// collect lets the collector run between callbacks.
func collect() { heap.Safe() }
