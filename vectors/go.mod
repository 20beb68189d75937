module github.com/sluice-go/sluice/vectors

go 1.25.0

require (
	github.com/sluice-go/sluice v0.1.0
	github.com/sluice-go/sluice/internal/oracle v0.1.0
	github.com/sluice-go/sluice/wasm v0.1.0
)

require go.yaml.in/yaml/v4 v4.0.0
