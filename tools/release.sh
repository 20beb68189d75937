#!/usr/bin/env bash
# Versions the modules and builds what a release consists of; its arguments are
# those of tools/release. Run by make release, make version and make tidy.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
need_go
tool release "$@"
