#!/usr/bin/env bash
# Runs the cases of the Autobahn test suite, by kosoku, against an echo server of
# websockets, directly and through sluice serve. It fails when a case fails through
# sluice serve alone, or when fewer cases run. Cases of sizes and compression (9, 12, 13)
# need an echo server made for them and are left out.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python kosoku==0.1.0 websockets==17.4

# cases prints the number of cases and what kosoku says of those that failed, of an
# address.
cases() {
	"$bin/kosoku" -o "$work/$1" -x '9.*' -x '12.*' -x '13.*' "$2" >"$work/$1.out" 2>&1 || true
	"$bin/python" - "$work/$1/index.json" <<'PYTHON'
import json, sys
[cases] = json.load(open(sys.argv[1])).values()
# NON-STRICT and INFORMATIONAL are no failures in Autobahn's words.
good = {"OK", "NON-STRICT", "INFORMATIONAL"}
print(len(cases), "cases")
for name in sorted(cases, key=lambda name: [int(n) for n in name.split(".")]):
    case = cases[name]
    if not {case["behavior"], case["behaviorClose"]} <= good:
        print("failed", name, case["behavior"], case["behaviorClose"])
PYTHON
}

start echo '^(127[0-9.:]+)' "$bin/python" "$root/tools/conformance/echo.py"
echo_server=$address
serve sluice "http://$echo_server" --upgrade websocket
say "directly"
cases direct "$echo_server" | tee "$work/direct.txt"
say "through sluice serve"
cases through "$address" | tee "$work/through.txt"
say "the difference"
diff "$work/direct.txt" "$work/through.txt" || die "sluice serve changes results"
echo "none"
