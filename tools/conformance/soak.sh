#!/usr/bin/env bash
# Runs the soak (tools/conformance/soak) against sluice serve, httputil.ReverseProxy and,
# where it is installed, nginx. Its arguments are those of the program: -time 10m.
#
#   NGINX_PROGRAM=FILE   this nginx in place of the one on PATH
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
sluice
built conformance/soak || die "cannot build tools/conformance/soak"
nginx=${NGINX_PROGRAM:-$(PATH=$PATH:/usr/sbin command -v nginx || true)}
[[ -n $nginx ]] || echo "NOTE: nginx is missing, so the soak runs without it (on Debian: apt-get install nginx)" >&2
"$root/.cache/tools/conformance/soak" -sluice "$SLUICE" -nginx "$nginx" "$@"
