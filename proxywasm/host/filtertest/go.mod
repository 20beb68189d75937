module github.com/sluice-go/sluice/proxywasm/host/filtertest

go 1.26.0

require (
	github.com/sluice-go/sluice v0.1.0
	github.com/sluice-go/sluice/proxywasm/host v0.1.0
	github.com/stretchr/testify v1.11.1
)
