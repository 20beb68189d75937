module github.com/sluice-go/sluice/proxywasm/host

go 1.26.0

require (
	github.com/sluice-go/sluice v0.1.0
	github.com/stretchr/testify v1.11.1
	github.com/tetratelabs/wazero v1.12.0
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/kr/text v0.2.0 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	golang.org/x/sys v0.44.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
