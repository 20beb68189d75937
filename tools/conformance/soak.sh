#!/usr/bin/env bash
# Runs the soak (tools/conformance/soak) against sluice serve, httputil.ReverseProxy and
# nginx. Its arguments are those of the program: -time 10m.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
sluice
built conformance/soak || die "cannot build tools/conformance/soak"
debian nginx nginx || echo "NOTE: nginx cannot be had, so the soak runs without it" >&2
"$root/.cache/tools/conformance/soak" -sluice "$SLUICE" -nginx "$program" "$@"
