#!/usr/bin/env bash
# Sends what HTTP/2 forbids (tools/conformance/http2) to net/http alone and to sluice
# serve, both with prior knowledge on a port without TLS. It fails when a case fails with
# sluice serve alone.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
built conformance/http2 || die "cannot build tools/conformance/http2"

server origin
origin=$address
serve sluice "http://$origin"
say "net/http"
"$root/.cache/tools/conformance/http2" "$origin" | tee "$work/stock.txt"
say "sluice serve"
"$root/.cache/tools/conformance/http2" "$address" | tee "$work/sluice.txt"
say "what fails with sluice serve alone"
# Both may fail a case for different reasons, which are behind the tab.
new=$(comm -13 <(cut -f1 "$work/stock.txt" | sort) <(cut -f1 "$work/sluice.txt" | sort))
[[ -z $new ]] || die "$new"
echo "nothing"
