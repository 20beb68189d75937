module github.com/sluice-go/sluice/examples

go 1.26.0

require (
	github.com/sluice-go/sluice v0.1.0
	github.com/sluice-go/sluice/proxywasm v0.1.0
)

require (
	github.com/stretchr/testify v1.11.1
	go.yaml.in/yaml/v4 v4.0.0
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
