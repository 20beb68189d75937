#!/usr/bin/env bash
# Changes one thing at a time in the pure packages and reports what no suite
# notices; its arguments are those of tools/mutants. Run by make mutants.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
need_go
tool mutants "$@"
