//go:build tinygo

// Command core is the module without the reader of documents, core.wasm: plans come
// in as bytes.
package main

import (
	_ "github.com/sluice-go/sluice/wasm/entry/export/base"
	_ "github.com/sluice-go/sluice/wasm/entry/export/cells"
	_ "github.com/sluice-go/sluice/wasm/entry/export/memories"
	_ "github.com/sluice-go/sluice/wasm/entry/export/pipelines"
	_ "github.com/sluice-go/sluice/wasm/entry/export/steps"
)

func main() {}
