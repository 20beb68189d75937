module github.com/sluice-go/sluice/playground

go 1.26.0

ignore node_modules
