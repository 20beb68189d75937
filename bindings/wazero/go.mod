module github.com/sluice-go/sluice/bindings/wazero

go 1.26.0

require (
	github.com/sluice-go/sluice v0.1.0
	github.com/sluice-go/sluice/sim v0.1.0
	github.com/sluice-go/sluice/vectors v0.1.0
	github.com/sluice-go/sluice/wasm v0.1.0
	github.com/tetratelabs/wazero v1.12.0
)

require (
	github.com/sluice-go/sluice/internal/oracle v0.1.0 // indirect
	go.yaml.in/yaml/v4 v4.0.0 // indirect
	golang.org/x/sys v0.44.0 // indirect
)
