module github.com/sluice-go/sluice

go 1.25.0

require go.yaml.in/yaml/v4 v4.0.0

require (
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // indirect
	github.com/stretchr/testify v1.11.1 // indirect
	golang.org/x/text v0.14.0 // indirect
)
