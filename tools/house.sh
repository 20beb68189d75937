#!/usr/bin/env bash
# Counts what growth of the repository costs: the places of a mechanism, switches, names, methods,
# what a refused call runs; tools/house takes its arguments. Run by make house.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
need_go
tool house "$@"
