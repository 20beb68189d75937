#!/usr/bin/env bash
# Builds the core with TinyGo into .cache/smoke.wasm, prints its size and fails
# when it does not link or has imports. Run by make tinygo.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../tools/common.sh"
need_go
out=.cache/smoke.wasm

tinygo=$(wasm/toolchain.sh)
go run ./wasm/smoke/gen
"$tinygo" build -opt=2 -no-debug -panic=trap -target "$PWD/wasm/target.json" -o "$out" ./wasm/smoke
go run ./wasm/smoke/check "$out"

# A host that is at hand shows that the module starts.
if command -v node >/dev/null; then
	node -e '
		const bytes = require("fs").readFileSync(process.argv[1]);
		const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), {});
		exports._initialize();
		let kept = 0;
		while (exports.address(kept)) kept++;
		if (exports.add(40, 2) !== 42) throw new Error("add(40, 2) = " + exports.add(40, 2));
		console.log(`smoke: runs in node ${process.version}, ${kept} functions linked`);
	' "$out"
fi
