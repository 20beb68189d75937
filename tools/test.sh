#!/usr/bin/env bash
# Runs the tests of all modules of go.work once, at full depth and without the
# race detector. Run by make test.
#
#   ARGS="-run TestX -v"   more arguments for go test
#   PACKAGES=./core/...    only these
#   SHUFFLE=N              in the order of an earlier run, which prints N
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
need_go

c_compiler || echo "NOTE: no C compiler, so the tests of bindings/wasmtime do not run (on Debian: apt-get install gcc libc6-dev)" >&2
find_modules
# shellcheck disable=SC2206 # a list of words
packages=(${PACKAGES:-${patterns[@]}})
tests -count=1 -timeout=15m "${packages[@]}"
