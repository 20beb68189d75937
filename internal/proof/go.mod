module github.com/sluice-go/sluice/internal/proof

go 1.26.0

require (
	github.com/sluice-go/sluice v0.1.0
	github.com/sluice-go/sluice/internal/oracle v0.1.0
	github.com/sluice-go/sluice/lint v0.1.0
	github.com/sluice-go/sluice/proxywasm v0.1.0
	github.com/sluice-go/sluice/sim v0.1.0
	github.com/sluice-go/sluice/vectors v0.1.0
	github.com/sluice-go/sluice/wasm v0.1.0
)

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/leanovate/gopter v0.2.11
	github.com/stretchr/testify v1.11.1
)

require (
	github.com/cockroachdb/datadriven v1.0.3 // indirect
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	go.yaml.in/yaml/v4 v4.0.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
