#!/usr/bin/env bash
# Runs every fuzz target of the repository for FUZZTIME (10s) each.
# FUZZ=Name runs only the targets whose name holds it. Run by make fuzz.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
need_go

count=0 failed=()
while IFS=: read -r file target; do
	[[ $target == *"${FUZZ:-}"* ]] || continue
	say "$target (${FUZZTIME:-10s})"
	dir=$(dirname "$file")
	count=$((count + 1))
	run go -C "$dir" test -run='^$' -fuzz="^$target\$" -fuzztime="${FUZZTIME:-10s}" -fuzzminimizetime=100x . || failed+=("$dir $target")
done < <(find . -name '*_test.go' -not -path './.*' -not -path '*/testdata/*' -not -path '*/node_modules/*' -print0 |
	xargs -0 grep -HoE '^func Fuzz[A-Za-z0-9_]*\(' | sed -E 's/:func (Fuzz[A-Za-z0-9_]*)\(/:\1/' | sort)

((count)) || echo "no fuzz targets found"
for one in ${failed[@]+"${failed[@]}"}; do echo "FAILED: $one"; done
printf '\n%d targets, %d failed\n' "$count" "${#failed[@]}"
((${#failed[@]} == 0))
