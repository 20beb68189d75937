module github.com/sluice-go/sluice/bindings/wasmtime

go 1.26.0

require (
	github.com/bytecodealliance/wasmtime-go/v39 v39.0.1
	github.com/sluice-go/sluice v0.0.0-00010101000000-000000000000
)

require go.yaml.in/yaml/v4 v4.0.0 // indirect

replace github.com/sluice-go/sluice => ../..
