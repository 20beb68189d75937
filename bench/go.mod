module github.com/sluice-go/sluice/bench

go 1.26.0

require (
	github.com/failsafe-go/failsafe-go v0.9.8
	github.com/sluice-go/sluice v0.0.0-00010101000000-000000000000
	github.com/sony/gobreaker/v2 v2.4.0
	golang.org/x/time v0.16.0
)

require (
	github.com/bits-and-blooms/bitset v1.24.4 // indirect
	go.yaml.in/yaml/v4 v4.0.0 // indirect
)

replace github.com/sluice-go/sluice => ..
