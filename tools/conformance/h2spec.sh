#!/usr/bin/env bash
# Runs h2spec against net/http alone and against sluice serve, both with HTTP/2 by prior
# knowledge on a port without TLS. It fails when a case fails with sluice serve alone.
# Exit code 3: h2spec cannot be installed.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
version=v2.2.1+incompatible

if [[ ! -x $cache/h2spec-$version/h2spec ]]; then
	GOBIN=$cache/h2spec-$version GOWORK=off go install "github.com/summerwind/h2spec/cmd/h2spec@$version" || {
		echo "h2spec $version cannot be installed, so it does not run: the lines above are of the go command" >&2
		exit 3
	}
fi
command -v python3 >/dev/null || die "python3 is missing, which reads the report"

# cases prints the number of cases and those that failed, of an address.
cases() {
	"$cache/h2spec-$version/h2spec" -h "${2%:*}" -p "${2##*:}" -o 2 -j "$work/$1.xml" >"$work/$1.out" 2>&1 || true
	python3 - "$work/$1.xml" <<'PYTHON'
import sys, xml.etree.ElementTree as tree
cases = list(tree.parse(sys.argv[1]).iter("testcase"))
failed = sorted(f"failed {c.get('package')} {c.get('classname')}" for c in cases if len(c) and c[0].tag != "skipped")
print(len(cases), "cases")
print("\n".join(failed))
PYTHON
}

server origin
origin=$address
serve sluice "http://$origin"
say "net/http"
cases stock "$origin" | tee "$work/stock.txt"
say "sluice serve"
cases sluice "$address" | tee "$work/sluice.txt"
say "what fails with sluice serve alone"
new=$(comm -13 <(sort "$work/stock.txt") <(sort "$work/sluice.txt"))
[[ -z $new ]] || die "$new"
echo "nothing"
