#!/usr/bin/env bash
# Runs the tests of what is concurrent several times under the race detector: the
# runner, its linearizability, the bindings, the hosts of the modules, the
# commands. What is single-threaded gains nothing from it: long tests of one goroutine
# in these packages are in files with the build tag !race. Run by make race.
#
#   ARGS, PACKAGES, SHUFFLE   as in test.sh
#   COUNT=3                   how many times
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
need_go

race=(-race)
c_compiler || {
	echo "NOTE: no C compiler, so the tests run WITHOUT the race detector (on Debian: apt-get install gcc libc6-dev)" >&2
	race=()
}
concurrent=(. ./internal/proof/apitest/... ./internal/proof/linearizability/... ./wasm/host/... ./wasm/hosttest/... ./internal/runner/... ./internal/keyedcells/... ./internal/attempt/...)
find_modules
# ./bindings/... leaves out the bindings that are modules of their own.
for pattern in ./bindings/... "${patterns[@]}"; do
	# The tests of the filter run one worker at a time; those of the host see to that.
	[[ $pattern != ./proxywasm/host/filtertest/* ]] || continue
	[[ $pattern != ./bindings/* && $pattern != ./cmd/* && $pattern != ./proxywasm/* ]] || concurrent+=("$pattern")
done
# shellcheck disable=SC2206 # a list of words
packages=(${PACKAGES:-${concurrent[@]}})
tests ${race[@]+"${race[@]}"} -count="${COUNT:-3}" -timeout=15m "${packages[@]}"
