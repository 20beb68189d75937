# Shared by the scripts of this folder and by .ci/run; sourced, not run.
# Sets root, and goes there.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "$root"
mkdir -p .cache

say() { printf '\n== %s\n' "$*"; }
die() { printf '%s\n' "$*" >&2; exit 1; }

# run prints a command and runs it.
run() { printf '+ %s\n' "$*"; "$@"; }

# need_go ends with one clear line when Go is missing or too old. What is
# needed is in go.work.
need_go() {
	local need have
	need=$(awk '$1 == "go" { print $2 }' go.work)
	need=${need%.0}
	command -v go >/dev/null ||
		die "Go is missing: install Go $need or newer (https://go.dev/dl/) and put its bin folder on PATH"
	have=$(cd / && GOTOOLCHAIN=local GOWORK=off go env GOVERSION) || die "go env does not run"
	have=${have#go}
	# A development build has no such number and is taken as new enough.
	if [[ $have =~ ^[0-9]+\. && $(printf '%s\n%s\n' "$need" "$have" | sort -V | head -n1) != "$need" ]]; then
		die "Go $have is too old: install Go $need or newer (https://go.dev/dl/)"
	fi
	# Nothing built here needs the state of the repository stamped into it.
	export GOFLAGS="-buildvcs=false ${GOFLAGS:-}"
}

# find_modules sets patterns to the packages of go.work's modules, one pattern a
# module. A module without any Go file yet is left out.
find_modules() {
	local dirs dir
	dirs=$(go list -m -f '{{.Dir}}') || die "go.work cannot be read"
	patterns=()
	while read -r dir; do
		[[ -n $(find "$dir" -name '*.go' -not -path '*/.*' | head -n1) ]] || continue
		dir=${dir#"$root"}
		patterns+=(".$dir/...")
	done <<<"$dirs"
	((${#patterns[@]})) || die "go.work names no module with Go files"
}

# tool runs a tool pinned in tools/go.mod. It is built there once, outside the
# workspace, and run in the present folder.
tool() {
	local name=$1
	shift
	built "$name" || die "cannot build $name"
	"$root/.cache/tools/$name" "$@"
}

# built makes .cache/tools/NAME from the pinned module, or from tools/NAME.
built() {
	local name=$1 bin=$root/.cache/tools/$1 package
	if [[ -d $root/tools/$name ]]; then
		package=./$name
	else
		package=$(awk -v name="$name" '$1 ~ "/" name "$" && NF == 1 { print $1 }' "$root/tools/go.mod")
	fi
	# The go command only rebuilds what changed.
	GOWORK=off go -C "$root/tools" build -o "$bin" "$package"
}

# c_compiler says whether cgo and the race detector can work, and sets CGO_ENABLED.
c_compiler() {
	local compiler
	read -r compiler _ < <(go env CC)
	export CGO_ENABLED=1
	command -v "$compiler" >/dev/null && return
	export CGO_ENABLED=0
	return 1
}

# tests runs go test with these arguments and the assertions of the core, in an order
# that it draws and prints, and ends with the line "N passed, N failed". SHUFFLE=N
# repeats an order, and the words of ARGS follow the arguments.
tests() {
	built testsum || die "cannot build tools/testsum"
	# shellcheck disable=SC2206 # a list of words
	local more=(${ARGS:-})
	export SLUICE_ASSERT=on # core/internal/assert fails without the tag
	local command=(go test -tags=sluice_assert -shuffle="${SHUFFLE:-$((RANDOM << 15 | RANDOM))}" "$@" ${more[@]+"${more[@]}"})
	printf '+ %s\n' "${command[*]}"
	"${command[@]:0:2}" -json "${command[@]:2}" | "$root/.cache/tools/testsum"
}
