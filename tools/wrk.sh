#!/usr/bin/env bash
# Prints the path of wrk and the folder of its library, a line each: the program on PATH,
# or that of Debian's package, unpacked into the cache.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/conformance/common.sh"
debian wrk wrk libluajit-5.1-2 || die "wrk cannot be had (on Debian: apt-get install wrk)"
printf '%s\n%s\n' "$program" "$libraries"
