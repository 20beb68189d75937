#!/usr/bin/env bash
# Builds the wasm modules and prints their sizes.
#
#   wasm/build.sh           writes wasm/*.wasm and proxywasm/*.wasm
#   wasm/build.sh --check   builds into .cache/wasm and fails when a committed
#                           module has other bytes
#
# Either fails when a module imports anything; the filter of a proxy imports functions
# of Proxy-Wasm and a clock alone. Run by make wasm and make wasm-check. Equal bytes need the pinned toolchain, see toolchain.sh. With
# another one the check says so and replays the conformance vectors on what it
# built instead.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../tools/common.sh"
need_go

# The modules: file, folder of the entry, optimization, build tags. The whole one has
# the texts of errors; those of the npm package have codes in place of texts. core is
# built for size, core-fast for speed.
modules=(
	"wasm/sluice wasm/entry/sluice 2 -"
	"wasm/core wasm/entry/core z sluice_codes"
	"wasm/core-fast wasm/entry/core 2 sluice_codes"
	"wasm/limiter wasm/entry/limiter z sluice_codes"
	"wasm/tokenbucket wasm/entry/tokenbucket z sluice_codes"
	"wasm/breaker wasm/entry/breaker z sluice_codes"
	"wasm/retry wasm/entry/retry z sluice_codes"
	"wasm/sim wasm/entry/sim 2 -"
	"proxywasm/sluice proxywasm/entry z -"
	"proxywasm/vectors proxywasm/entry/vectors z -"
)
features=(--enable-bulk-memory --enable-sign-ext --enable-nontrapping-float-to-int --enable-mutable-globals)
recipe="tinygo 0.41.1, LLVM 19.1.7, binaryen 108"

check=
[[ ${1:-} == --check ]] && check=yes
out=${check:+.cache/wasm}
out=${out:-.}
mkdir -p "$out/wasm" "$out/proxywasm"

tinygo=$(wasm/toolchain.sh)
# TinyGo looks for its linker on PATH.
mkdir -p .cache/linker
ln -sfn "$PWD/wasm/link.sh" .cache/linker/wasm-ld-19
have="tinygo $("$tinygo" version | awk '{print $3}'), LLVM $("$tinygo" version | sed -n 's/.*LLVM version \([0-9.]*\).*/\1/p'), binaryen $(wasm-opt --version | awk '{print $3}')"

# roots writes what wasm-metadce has to keep: the exports of an entry and of the packages
# of exports that it imports. TinyGo exports helpers of its own besides.
roots() {
	local package export
	echo '['
	for export in $(
		sed -n 's#^//go:wasmexport ##p' "$1/main.go"
		for package in $(sed -n 's#.*/wasm/entry/export/\([a-z]*\)"#\1#p' "$1/main.go"); do
			sed -n 's#^//go:wasmexport ##p' "wasm/entry/export/$package/$package.go"
		done
	); do
		printf '{"name":"%s","root":true,"export":"%s"},\n' "$export" "$export"
	done
	printf '{"name":"_initialize","root":true,"export":"_initialize"},{"name":"memory","root":true,"export":"memory"}]\n'
}

differ=()
for module in "${modules[@]}"; do
	read -r name entry level tags <<<"$module"
	wasm=$out/$name.wasm
	path=$PWD/.cache/linker:$PATH
	# The replay of the vectors has package fmt, which reads the descriptions of types.
	[[ $name != */vectors ]] || path=$PATH
	PATH="$path" "$tinygo" build -opt="$level" -no-debug -panic=trap -tags "${tags#-}" -target "$PWD/wasm/target.json" -o "$wasm.new" "./$entry"
	passes=(-Oz)
	[[ $level == z ]] || passes=(-O3)
	roots "$entry" >"$wasm.roots"
	wasm-metadce --graph-file="$wasm.roots" "${features[@]}" "$wasm.new" -o "$wasm.new" >/dev/null
	# Addresses below 1,024 are the far end of the stack.
	wasm-opt "${passes[@]}" --converge --low-memory-unused "${features[@]}" --strip-debug --strip-producers "$wasm.new" -o "$wasm"
	rm -f "$wasm.new" "$wasm.roots"
	printf '%-21s %6d bytes, %6d gzipped\n' "$name.wasm" "$(stat -c %s "$wasm")" "$(gzip -9c "$wasm" | wc -c)"
	allowed='^$'
	[[ $name != proxywasm/* ]] || allowed='"env" "proxy_|"wasi_snapshot_preview1" "clock_time_get"'
	if wasm-dis "${features[@]}" "$wasm" | grep '(import ' | grep -vE "$allowed"; then
		die "$name.wasm has imports that it must not have"
	fi
	[[ -z $check ]] || cmp -s "$wasm" "$name.wasm" || differ+=("$name.wasm")
done

if ((${#differ[@]})); then
	if [[ $have == "$recipe" ]]; then
		die "${differ[*]}: other bytes than the committed ones; run make wasm and commit what it wrote"
	fi
	say "bytes are not compared: this is $have, the committed modules were built by $recipe"
	for name in sluice core core-fast; do
		SLUICE_WASM=$out/wasm/$name.wasm node vectors/node.mjs
	done
elif [[ -n $check ]]; then
	echo "the committed modules are what the sources give ($recipe)"
fi
