#!/usr/bin/env bash
# Builds the modules of the tests: testdata/abi.wasm, of the filter testdata/abi.
#
#   proxywasm/host/filtertest/testdata/build.sh           writes them
#   proxywasm/host/filtertest/testdata/build.sh --check   builds them aside and fails when
#                                                         a committed one has other bytes
#
# Equal bytes need the toolchain of wasm/build.sh. With another one the check says so. Run
# by make wasm and make wasm-check.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../../../tools/common.sh"
need_go

recipe="tinygo 0.41.1, LLVM 19.1.7, binaryen 108"
testdata=proxywasm/host/filtertest/testdata
out=$testdata
[[ ${1:-} != --check ]] || out=.cache/wasm
mkdir -p "$out"

tinygo=$(wasm/toolchain.sh)
have="tinygo $("$tinygo" version | awk '{print $3}'), LLVM $("$tinygo" version | sed -n 's/.*LLVM version \([0-9.]*\).*/\1/p'), binaryen $(wasm-opt --version | awk '{print $3}')"

for name in abi; do
	(cd proxywasm/host/filtertest && "$tinygo" build -opt=z -no-debug -panic=trap -target "$root/proxywasm/host/testdata/target.json" -o "$root/$out/$name.wasm" "./testdata/$name")
	printf '%-13s %6d bytes\n' "$name.wasm" "$(stat -c %s "$out/$name.wasm")"
	if [[ ${1:-} == --check ]] && ! cmp -s "$out/$name.wasm" "$testdata/$name.wasm"; then
		[[ $have != "$recipe" ]] || die "$name.wasm: other bytes than the committed one; run make wasm and commit what it wrote"
		say "the bytes of $name.wasm are not compared: this is $have, the committed one was built by $recipe"
	fi
done
