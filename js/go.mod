module github.com/sluice-go/sluice/js

go 1.26.0

ignore node_modules

require (
	github.com/sluice-go/sluice v0.1.0
	github.com/sluice-go/sluice/internal/oracle v0.1.0
)

require go.yaml.in/yaml/v4 v4.0.0
