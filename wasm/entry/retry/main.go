//go:build tinygo

// Command retry is the module of retries alone, retry.wasm.
package main

import (
	_ "github.com/sluice-go/sluice/wasm/entry/export/base"
	_ "github.com/sluice-go/sluice/wasm/entry/export/retries"
)

func main() {}
