# make help lists what there is. Each target works on a fresh clone with
# nothing installed but Go (the version in go.work); for wasm, Node and the
# browser a Debian as root, where what is missing is installed, or these on PATH.

SHELL := /bin/bash
.DEFAULT_GOAL := help
FUZZTIME ?= 10s
SOAK ?= 5m

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: go
go:
	@. tools/common.sh && need_go

.PHONY: demo
demo: go ## Show a brown-out with no policy, retries by hand and the policy (17 s); ARGS= for its flags
	@go run ./cmd/sluice demo $(ARGS)

.PHONY: build
build: go ## Build bin/sluice
	go build -trimpath -o bin/sluice ./cmd/sluice

.PHONY: test
test: ## Run the tests of all modules once, at full depth; PACKAGES= and ARGS= narrow it down
	@PACKAGES='$(PACKAGES)' ARGS='$(ARGS)' tools/test.sh

.PHONY: race
race: ## Run the concurrent tests three times under the race detector; PACKAGES= and ARGS=
	@PACKAGES='$(PACKAGES)' ARGS='$(ARGS)' tools/race.sh

.PHONY: lint
lint: ## gofmt, vet, staticcheck, purity of the core, deadcode, TypeScript, govulncheck
	@tools/lint.sh

.PHONY: generate
generate: go ## Write what follows from the rows of the mechanisms and from the ABI, and the figures of the guides
	go generate ./core/mechanisms
	go run ./gen
	go run ./gen # the tables and types follow from the rows that the first run writes
	go generate ./wasm/abi
	go test ./policy -run 'TestSchemaIsMadeOfTheRows|TestReferenceTables' -rewrite
	go run ./docs/mechanisms/draw

.PHONY: bench
bench: ## Run the benchmarks beside the peers and print the table; ARGS= for its flags
	@tools/bench.sh $(ARGS)

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (10s) each; FUZZ= picks by name
	@FUZZTIME=$(FUZZTIME) FUZZ='$(FUZZ)' tools/fuzz.sh

.PHONY: soak
soak: ## Run the random tests and the soaks with fresh seeds for SOAK (5m)
	@SOAK=$(SOAK) PACKAGES='$(PACKAGES)' ARGS='$(ARGS)' tools/soak.sh

.PHONY: conformance
conformance: ## Run what other projects test proxies with against sluice serve (docs/conformance.md)
	@tools/conformance/http2.sh && tools/conformance/websocket.sh && tools/conformance/smuggling.sh && tools/conformance/h2spec.sh && tools/conformance/acme.sh

.PHONY: mutants
mutants: ## Change one thing at a time in core/ and report what survives; ARGS= for its flags
	@tools/mutants.sh $(ARGS)

.PHONY: wasm
wasm: go ## Build wasm/*.wasm from the core with TinyGo and print their sizes
	@wasm/build.sh && proxywasm/host/testdata/build.sh && proxywasm/host/filtertest/testdata/build.sh

.PHONY: wasm-check
wasm-check: go ## Build them aside and compare with the committed ones
	@wasm/build.sh --check && proxywasm/host/testdata/build.sh --check && proxywasm/host/filtertest/testdata/build.sh --check

.PHONY: house
house: ## Count what growth costs: places of a mechanism, switches, names, methods, moves; ARGS= for its flags
	@tools/house.sh $(ARGS)

.PHONY: playground
playground: go ## Build the playground, static files for any web server, in playground/dist
	@npm --prefix playground install --no-audit --no-fund --loglevel=error && npm --prefix playground run --silent build

.PHONY: release
release: ## Build archives, checksums and the image's folder of VERSION in dist; ARGS=-verify builds twice and compares
	@tools/release.sh build $(ARGS) '$(VERSION)' dist

.PHONY: version
version: ## Write VERSION into go.work and every go.mod
	@tools/release.sh set '$(VERSION)'

.PHONY: tidy
tidy: ## Run go mod tidy in every module
	@tools/release.sh tidy

.PHONY: ci
ci: ## What CI runs: test, race, lint, wasm-check
	@.ci/run

.PHONY: clean
clean: ## Remove bin, dist and .cache
	rm -rf bin dist .cache
