#!/usr/bin/env bash
# Runs the tests of all modules of go.work, with the race detector, shuffled
# and three times, and ends with the line "N passed, N failed". Run by make test.
#
#   ARGS="-run TestX -v"   more arguments for go test
#   PACKAGES=./core/...    only these
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
need_go

race=(-race)
read -r compiler _ < <(go env CC)
if ! command -v "$compiler" >/dev/null; then
	echo "NOTE: no C compiler ($compiler), so the tests run WITHOUT the race detector (on Debian: apt-get install gcc libc6-dev)" >&2
	race=()
	export CGO_ENABLED=0
else
	export CGO_ENABLED=1
fi

# Benchmarks are another module's business to run; here they must build.
find_modules
packages=() compiled=()
for pattern in "${patterns[@]}"; do
	if [[ $pattern == ./bench/... ]]; then
		compiled+=("$pattern")
	else
		packages+=("$pattern")
	fi
done

built testsum || die "cannot build tools/testsum"
if ((${#compiled[@]})) && [[ -z ${PACKAGES:-} ]]; then
	say "bench builds"
	run go vet "${compiled[@]}"
	run go test -count=1 -run='^$' "${compiled[@]}"
fi

say "tests"
# shellcheck disable=SC2206 # both are lists of words
packages=(${PACKAGES:-${packages[@]}}) more=(${ARGS:-})
command=(go test ${race[@]+"${race[@]}"} -shuffle=on -count=3 -timeout="${TIMEOUT:-15m}" ${more[@]+"${more[@]}"} "${packages[@]}")
printf '+ %s\n' "${command[*]}"
status=0
"${command[@]:0:2}" -json "${command[@]:2}" | "$root/.cache/tools/testsum" || status=$?
exit "$status"
