#!/usr/bin/env bash
# The linker of target.json: wasm-ld, after the descriptions of Go types have been cut
# from the program. TinyGo keeps the names, fields and packages of every type that an
# interface holds, for package reflect, which no module has: only the addresses of the
# descriptions are compared. They are 6 to 16 in 100 of a module's bytes.
set -euo pipefail

llvm=/usr/lib/llvm-19/bin
args=()
for arg; do
	if [[ $arg == */main.o ]]; then
		"$llvm/llvm-dis" "$arg" -o "$arg.ll"
		if grep -Eq '^define .*@"?(internal/)?reflect(lite)?\.' "$arg.ll"; then
			echo "link.sh: package reflect is linked, and reads the descriptions of types" >&2
			exit 1
		fi
		# The lines that begin with ^ are a summary of what is cut.
		sed -E -e '/^\^/d' \
			-e 's/^(@"reflect\/types\.type:.*"|@reflect\/types\.type:[^ ]*) = .*constant .*$/\1 = internal constant i32 0, align 4/' "$arg.ll" |
			"$llvm/llvm-as" -o "$arg.cut"
		arg=$arg.cut
	fi
	args+=("$arg")
done
exec "$llvm/wasm-ld" "${args[@]}"
