#!/usr/bin/env bash
# Builds the filter of the tests, testdata/guest.wasm, from testdata/guest.
#
#   proxywasm/host/testdata/build.sh           writes it
#   proxywasm/host/testdata/build.sh --check   builds it aside and fails when the
#                                              committed one has other bytes
#
# Equal bytes need the toolchain of wasm/build.sh. With another one the check says
# so. Run by make wasm and make wasm-check.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../../tools/common.sh"
need_go

recipe="tinygo 0.41.1, LLVM 19.1.7, binaryen 108"
testdata=proxywasm/host/testdata
out=$testdata
[[ ${1:-} != --check ]] || out=.cache/wasm
mkdir -p "$out"

tinygo=$(wasm/toolchain.sh)
have="tinygo $("$tinygo" version | awk '{print $3}'), LLVM $("$tinygo" version | sed -n 's/.*LLVM version \([0-9.]*\).*/\1/p'), binaryen $(wasm-opt --version | awk '{print $3}')"

(cd proxywasm/host && "$tinygo" build -opt=z -no-debug -panic=trap -target "$PWD/testdata/target.json" -o "$root/$out/guest.wasm" ./testdata/guest)
printf 'guest.wasm    %6d bytes\n' "$(stat -c %s "$out/guest.wasm")"
if [[ ${1:-} == --check ]] && ! cmp -s "$out/guest.wasm" "$testdata/guest.wasm"; then
	[[ $have != "$recipe" ]] || die "guest.wasm: other bytes than the committed one; run make wasm and commit what it wrote"
	say "the bytes of guest.wasm are not compared: this is $have, the committed one was built by $recipe"
fi
