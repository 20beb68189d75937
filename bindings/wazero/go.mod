module github.com/sluice-go/sluice/bindings/wazero

go 1.26.0

require (
	github.com/sluice-go/sluice v0.1.0
	github.com/tetratelabs/wazero v1.12.0
)

require (
	go.yaml.in/yaml/v4 v4.0.0 // indirect
	golang.org/x/sys v0.44.0 // indirect
)
