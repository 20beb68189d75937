#!/usr/bin/env bash
# Runs each check of smugglex against a proxy with a planted hole of its kind (servers/hole.go),
# which it must find, and then all of them against sluice serve, where they must find
# nothing. The check 0-cl finds no hole: it sends the same bytes before the early answer
# that it looks for as in its control. The check h2c does not find a proxy that tunnels the
# upgrade. Both are tested in cmd/sluice/internal/serve/smuggling_test.go.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
version=0.4.0

smugglex=$cache/smugglex/bin/smugglex
if [[ ! -x $smugglex ]]; then
	command -v cargo >/dev/null || die "cargo is missing: install Rust 1.88 or newer (https://rustup.rs)"
	echo "smugglex $version is built, which takes some minutes"
	cargo install -q smugglex --version "$version" --locked --root "$cache/smugglex" --target-dir "$cache/smugglex-build" ||
		die "cannot install smugglex $version"
fi
command -v python3 >/dev/null || die "python3 is missing, which reads the report"

# scan prints what smugglex finds at an address; more arguments are its flags.
scan() {
	local name=$1 at=$2 status=0
	shift 2
	"$smugglex" --json --no-color --timeout 3 "$@" "http://$at/" >"$work/$name.json" || status=$?
	((status <= 1)) || die "smugglex ends with $status"
	python3 - "$work/$name.json" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
checks = [c for r in report["results"] for c in r["checks"]]
if not checks or not all(c["normal_status"] for c in checks):
    sys.exit("smugglex could not talk to the server")
for c in checks:
    print(f"{c['check_type']:20} {'FOUND' if c['vulnerable'] else 'nothing'}")
print(sum(c["vulnerable"] for c in checks), "findings in", len(checks), "checks")
PYTHON
}

checks=(cl-te te-cl te-te h2c h2 cl-edge cl-0 parser-discrepancy)
for check in "${checks[@]}"; do
	hole=$check
	[[ $check != parser-discrepancy ]] || hole=cl-te
	say "the planted hole $hole"
	server hole -kind "$hole"
	scan "hole-$check" "$address" --checks "$check" --exit-first | tee "$work/hole-$check.txt"
	grep -q FOUND "$work/hole-$check.txt" || die "smugglex does not find the planted hole: what its check $check says of sluice serve proves nothing"
done
say "sluice serve"
server origin
serve sluice "http://$address"
all=$(IFS=, && echo "${checks[*]}")
scan sluice "$address" --checks "$all,0-cl" | tee "$work/sluice.txt"
! grep -q FOUND "$work/sluice.txt" || die "smugglex finds something at sluice serve"
