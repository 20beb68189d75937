module github.com/sluice-go/sluice/internal/oracle

go 1.25.0

require github.com/sluice-go/sluice v0.1.0

require go.yaml.in/yaml/v4 v4.0.0 // indirect
