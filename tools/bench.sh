#!/usr/bin/env bash
# Prints the table of benchmarks beside the peers: the program of the bench
# module where there is one, else go test -bench everywhere. Run by make bench.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
need_go

if [[ -f bench/main.go ]]; then
	run go run ./bench "$@"
	exit
fi
find_modules
run go test -run='^$' -bench=. -benchmem "$@" "${patterns[@]}"
