#!/usr/bin/env bash
# Runs smugglex against a proxy with a planted hole (CL.TE, see servers/hole.go), which it
# must find, and then with all of its checks against sluice serve, where it must find
# nothing.
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
	"$smugglex" --json --no-color "$@" "http://$at/" >"$work/$name.json" || status=$?
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

server origin
origin=$address
say "the planted hole"
server hole -to "$origin"
scan hole "$address" --checks cl-te --exit-first | tee "$work/hole.txt"
grep -q FOUND "$work/hole.txt" || die "smugglex does not find the planted hole: what it says of sluice serve proves nothing"
say "sluice serve"
serve sluice "http://$origin"
scan sluice "$address" --checks cl-te,te-cl,te-te,h2c,h2,cl-edge,cl-0,0-cl,parser-discrepancy | tee "$work/sluice.txt"
! grep -q FOUND "$work/sluice.txt" || die "smugglex finds something at sluice serve"
