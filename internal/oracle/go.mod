module github.com/sluice-go/sluice/internal/oracle

go 1.25.0

require (
	github.com/sluice-go/sluice v0.1.0
	github.com/stretchr/testify v1.11.1
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/kr/text v0.2.0 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	go.yaml.in/yaml/v4 v4.0.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
