#!/usr/bin/env bash
# Finds a TinyGo 0.41 on PATH, or builds the pinned one into .cache/tinygo, and
# prints the path of a tinygo that is ready to run. Progress goes to stderr.
#
#   tinygo=$(wasm/toolchain.sh) && "$tinygo" version
#
# The build follows the recipe of wasm/README.md: module files pinned in
# wasm/toolchain/, Debian's LLVM 19 and binaryen. Nothing is written outside
# the repository but Go's own module cache and, when missing, apt packages.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
pinned=0.41.1
series=0.41
cache=$root/.cache/tinygo
ready=$cache/tinygo-$pinned
packages=(llvm-19-dev libclang-19-dev lld-19 clang-19 binaryen g++)

say() { printf 'toolchain: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# A TinyGo on PATH is used as it is when its version fits. SLUICE_TINYGO=build
# skips it: the byte-equal recipe is the pinned build.
if [[ ${SLUICE_TINYGO:-} != build ]] && found=$(command -v tinygo); then
	version=$("$found" version 2>/dev/null | awk '{print $3}') || version=
	if [[ $version == "$series".* ]]; then
		say "using tinygo $version ($found)"
		echo "$found"
		exit 0
	fi
	say "tinygo ${version:-of unknown version} on PATH does not fit $series.x"
fi

command -v go >/dev/null || die "Go is missing; install Go 1.26 or newer"

mkdir -p "$root/.cache"
missing=()
for package in "${packages[@]}"; do
	case $package in
		llvm-19-dev) test -x /usr/lib/llvm-19/bin/llvm-config ;;
		libclang-19-dev) test -e /usr/lib/llvm-19/include/clang-c/Index.h ;;
		lld-19) command -v wasm-ld-19 >/dev/null ;;
		clang-19) command -v clang-19 >/dev/null ;;
		binaryen) command -v wasm-opt >/dev/null ;;
		g++) command -v "${CXX:-g++}" >/dev/null ;;
	esac || missing+=("$package")
done
if ((${#missing[@]})); then
	command -v apt-get >/dev/null && [[ $(id -u) == 0 ]] ||
		die "missing ${missing[*]}: install them (on Debian, as root: apt-get install ${missing[*]}), or put a TinyGo $series.x on PATH"
	say "installing ${missing[*]}"
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq >&2 &&
		apt-get install -y -qq --no-install-recommends "${missing[@]}" >"$root/.cache/apt.log" 2>&1 ||
		{ tail -5 "$root/.cache/apt.log" >&2 2>/dev/null; die "apt-get could not install ${missing[*]}"; }
fi

if [[ ! -x $ready/tinygo ]]; then
	say "building tinygo $pinned (about a minute, once)"
	rm -rf "$ready" && mkdir -p "$ready"
	cd "$root/wasm/toolchain"
	export GOWORK=off
	# The release's folder in the module cache is read-only and lacks the git
	# submodules: copy it and give it the empty src/net that the loader lists.
	go mod download github.com/tinygo-org/tinygo
	source=$(go list -m -f '{{.Dir}}' github.com/tinygo-org/tinygo)
	cp -r "$source" "$ready/root"
	chmod -R u+w "$ready/root"
	mkdir -p "$ready/root/src/net"
	go build -buildvcs=false -tags llvm19 -o "$ready/tinygo.bin" github.com/tinygo-org/tinygo
	cat >"$ready/tinygo.new" <<-'WRAPPER'
		#!/bin/sh
		# TinyGo keeps its own cache beside this file and not in the home folder.
		here=$(cd "$(dirname "$0")" && pwd)
		TINYGOROOT=$here/root GOCACHE=$here/gocache XDG_CACHE_HOME=$here/cache exec "$here/tinygo.bin" "$@"
	WRAPPER
	chmod +x "$ready/tinygo.new"
	mv "$ready/tinygo.new" "$ready/tinygo" # last, so that a broken build is not taken for a finished one
fi
say "using $("$ready/tinygo" version)"
echo "$ready/tinygo"
