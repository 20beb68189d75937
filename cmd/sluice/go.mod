module github.com/sluice-go/sluice/cmd/sluice

go 1.26

require (
	github.com/sluice-go/sluice v0.0.0-00010101000000-000000000000
	github.com/spf13/cobra v1.10.2
	github.com/spf13/pflag v1.0.9
)

require (
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	go.yaml.in/yaml/v4 v4.0.0 // indirect
)

replace github.com/sluice-go/sluice => ../..
