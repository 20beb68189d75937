//go:build tinygo

// Command sluice is the whole module, sluice.wasm.
package main

import (
	_ "github.com/sluice-go/sluice/wasm/entry/export/adoptions"
	_ "github.com/sluice-go/sluice/wasm/entry/export/base"
	_ "github.com/sluice-go/sluice/wasm/entry/export/batches"
	_ "github.com/sluice-go/sluice/wasm/entry/export/breakers"
	_ "github.com/sluice-go/sluice/wasm/entry/export/bulkheads"
	_ "github.com/sluice-go/sluice/wasm/entry/export/cells"
	_ "github.com/sluice-go/sluice/wasm/entry/export/documents"
	_ "github.com/sluice-go/sluice/wasm/entry/export/limiters"
	_ "github.com/sluice-go/sluice/wasm/entry/export/memories"
	_ "github.com/sluice-go/sluice/wasm/entry/export/pipelines"
	_ "github.com/sluice-go/sluice/wasm/entry/export/retries"
	_ "github.com/sluice-go/sluice/wasm/entry/export/steps"
)

func main() {}
