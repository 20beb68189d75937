//go:build tinygo

// Command tokenbucket is the module of token buckets without a queue, tokenbucket.wasm.
package main

import _ "github.com/sluice-go/sluice/wasm/entry/export/buckets"

func main() {}
