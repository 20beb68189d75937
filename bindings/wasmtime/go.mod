module github.com/sluice-go/sluice/bindings/wasmtime

go 1.26.0

require (
	github.com/bytecodealliance/wasmtime-go/v39 v39.0.1
	github.com/sluice-go/sluice v0.1.0
	github.com/sluice-go/sluice/vectors v0.1.0
	github.com/sluice-go/sluice/wasm v0.1.0
)

require (
	github.com/sluice-go/sluice/internal/oracle v0.1.0 // indirect
	go.yaml.in/yaml/v4 v4.0.0 // indirect
)
