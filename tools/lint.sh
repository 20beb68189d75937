#!/usr/bin/env bash
# Checks the form of all modules of go.work and of the npm package: gofmt, go vet, staticcheck,
# deadcode, the purity of the core, the bundles of the report's page, govulncheck. All checks run; the first
# failure decides the exit code. Run by make lint.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
need_go
exec 2>&1

failed=()
check() {
	local name=$1
	shift
	say "$name"
	"$@" || failed+=("$name")
}

find_modules

formatted() {
	local unformatted
	unformatted=$(find . -name '*.go' -not -path './.*' -not -path '*/node_modules/*' -print0 | xargs -0 gofmt -l)
	[[ -z $unformatted ]] || { printf 'not formatted: %s\n' $unformatted; return 1; }
}

vetted() { run go vet "${patterns[@]}"; }
# Its cache stays in the repository too.
statically() { STATICCHECK_CACHE=$root/.cache/staticcheck run tool staticcheck "${patterns[@]}"; }

# What no program and no test of the workspace reaches. The library's own
# exported functions are reached by its tests, or they are not tested.
dead() {
	local found
	echo "+ tool deadcode -test ${patterns[*]}"
	found=$(tool deadcode -test "${patterns[@]}") || return 1
	# The filter of a proxy and its ABI are reached by exports of wasm, which deadcode does
	# not know.
	found=$(grep -vE '^proxywasm/(abi|filter)/' <<<"$found" || true)
	[[ -z $found ]] || { printf '%s\n' "$found"; return 1; }
}

pure() { run go run ./internal/purity/cmd; }

scripts() {
	local script
	for script in .ci/run tools/*.sh tools/conformance/*.sh wasm/*.sh proxywasm/host/testdata/*.sh proxywasm/host/filtertest/testdata/*.sh; do bash -n "$script" || return 1; done
}

# govulncheck reads a database over the network, or from the folder named by
# VULNDB. Where neither is at hand the check is skipped, and says so.
vulnerable() {
	local output status=0 db=()
	[[ -z ${VULNDB:-} ]] || db=(-db "file://$VULNDB")
	output=$(tool govulncheck ${db[@]+"${db[@]}"} "${patterns[@]}" 2>&1) || status=$?
	if ((status == 0 || status == 3)); then
		printf '%s\n' "$output"
		return "$status"
	fi
	if grep -qiE 'fetching vulnerabilities|dial tcp|no such host|i/o timeout|connection refused|proxyconnect|HTTP (GET|[45])|Forbidden|unexpected status|x509' <<<"$output"; then
		echo "SKIPPED: the vulnerability database cannot be reached (set VULNDB to a local copy)"
		return 0
	fi
	printf '%s\n' "$output"
	return 1
}

# The tools' own module is outside the workspace.
own() {
	run env GOWORK=off go -C tools vet ./... && run env GOWORK=off go -C tools test ./...
}

# TypeScript in strict mode, and the form of the npm package and of the playground.
typed() {
	if ! command -v npm >/dev/null; then
		echo "SKIPPED: npm is not on PATH (install Node 20 or newer)"
		return 0
	fi
	local package
	for package in js playground; do
		run npm --prefix "$package" install --no-audit --no-fund --loglevel=error && run npm --prefix "$package" run --silent lint || return 1
	done
	# Everything that the package exports is in the API pages, with a comment.
	run npm --prefix js run --silent docs
}

# The script and the style of the report's page are what its sources make.
bundled() {
	if ! command -v npm >/dev/null; then
		echo "SKIPPED: npm is not on PATH (install Node 20 or newer)"
		return 0
	fi
	run npm --prefix sim/report/page install --ignore-scripts --no-audit --no-fund --loglevel=error && run npm --prefix sim/report/page run --silent check
}

check gofmt formatted
check scripts scripts
check "go vet" vetted
check staticcheck statically
check purity pure
check deadcode dead
check tools own
check typescript typed
check "report page" bundled
check govulncheck vulnerable

if ((${#failed[@]})); then
	printf '\nlint: failed: %s\n' "$(IFS=,; echo "${failed[*]}")"
	exit 1
fi
printf '\nlint: clean\n'
