#!/usr/bin/env bash
# Runs the random tests and the soaks, half of the time each, with one fresh seed
# after another for SOAK (5m; h, m or s), at least one round. The tests that compare case
# by case add the one at which they fail to internal/testenv/testdata/seeds.txt, and make
# test repeats it. Then the fuzz targets of the front and of bindings/nethttp run for a fifth of the time; the
# inputs that reached new code stay in testdata, where go test replays them. It stops at
# the first failure. Run by make soak.
#
#   SLUICE_SEED=N                                begins with this seed
#   PACKAGES=./internal/proof/proptest ARGS="-run TestSoak"     as in test.sh
#
# Many seeds of the comparisons alone, in one process each:
#
#   SLUICE_SEED=9000 SLUICE_SEEDS=200 SLUICE_CASES=2000 go test -tags=sluice_assert -timeout=0 -run 'TestOracle|TestRunnerAgreesWithEval' ./internal/oracle ./internal/proof/apitest
#   SLUICE_SEED=9000 SLUICE_SEEDS=200 SLUICE_CASES=12 go test -tags=sluice_assert -timeout=0 -run TestEngines ./cmd/sluice/internal/cli
#   SLUICE_SEED=9000 SLUICE_SEEDS=200 SLUICE_CASES=300 go test -tags=sluice_assert -timeout=0 -run 'TestDriverAgreesWithEval|TestNestedAgrees' ./js
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
need_go

[[ ${SOAK:=5m} =~ ^([0-9]+)([hms])$ ]] || die "SOAK is $SOAK; allowed: a number with h, m or s"
declare -A unit=([h]=3600 [m]=60 [s]=1)
total=$((BASH_REMATCH[1] * unit[${BASH_REMATCH[2]}]))
end=$((SECONDS + total))

race=(-race)
c_compiler || {
	echo "NOTE: no C compiler, so the soaks run WITHOUT the race detector (on Debian: apt-get install gcc libc6-dev)" >&2
	race=()
}

# The packages with tests that read SLUICE_SEED.
mapfile -t random < <(git grep -lE 'testenv\.(Seed|Times|Cases|Draws)\(' -- '*_test.go' |
	sed 's,^,./,; s,/[^/]*$,,' | sort -u)
# shellcheck disable=SC2206 # a list of words
packages=(${PACKAGES:-${random[@]}})

seed=${SLUICE_SEED:-$((RANDOM << 15 | RANDOM))}
for ((round = 1; ; round++, seed++)); do
	say "round $round: SLUICE_SEED=$seed"
	export SLUICE_SEED=$seed
	export SLUICE_RECORD=$root/internal/testenv/testdata/seeds.txt
	began=$SECONDS
	# Explorations draw nothing.
	tests -count=1 -timeout=0 -skip='^Test(Soak|Explored)' "${packages[@]}"
	SLUICE_SOAK=$((SECONDS - began + 1))s ARGS='' tests ${race[@]+"${race[@]}"} -count=1 -timeout=0 -run='^TestSoak' ./internal/proof/apitest ./proxywasm/scenarios
	((SECONDS < end)) || break
done
# The targets of the front, and of the library below it: what strangers send.
mapfile -t targets < <(grep -oE '^func Fuzz[A-Za-z0-9_]*' {cmd/sluice/internal/serve,bindings/nethttp}/*_test.go |
	sed -E 's,/[^/]*:func , ,')
if [[ -z ${PACKAGES:-} ]]; then
	for one in "${targets[@]}"; do
		read -r folder target <<<"$one"
		seconds=$((total / 5 / ${#targets[@]} + 1))
		say "$target of $folder for ${seconds}s"
		stamp=$(mktemp)
		# Without a bound of the minimization one input can take all of a short time.
		run go -C "$folder" test -tags=sluice_assert -run='^$' -fuzz="^$target\$" -fuzztime="${seconds}s" -fuzzminimizetime=100x .
		found=$(go env GOCACHE)/fuzz/$(go -C "$folder" list .)/$target
		# At most ten of a run, the shortest ones: each is replayed by every go test.
		mkdir -p "$folder/testdata/fuzz/$target"
		kept=0
		while read -r file; do
			cp -n "$file" "$folder/testdata/fuzz/$target/"
			kept=$((kept + 1))
		done < <(find "$found" -type f -newer "$stamp" -printf '%s %p\n' | sort -n | head -n 10 | cut -d' ' -f2-)
		rm "$stamp"
		say "$target of $folder: kept $kept inputs"
	done
fi
printf '\n%d rounds in %d s\n' "$round" "$SECONDS"
