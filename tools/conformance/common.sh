# Shared by the scripts of this folder; sourced, not run. What they install is under
# .cache/conformance.
#
#   SLUICE=FILE   test this program in place of one built from the tree

. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
need_go
cache=$root/.cache/conformance
mkdir -p "$cache"

# What start has started, to be ended with the script.
started=()
finish() {
	local pid
	for pid in ${started[@]+"${started[@]}"}; do
		kill "$pid" 2>/dev/null || continue
		wait "$pid" 2>/dev/null || true # its status is that of the signal
	done
	rm -rf "$work"
}
work=$(mktemp -d "$cache/run.XXXXXX")
trap 'status=$?; finish; exit "$status"' EXIT
trap 'exit 130' INT TERM

# start runs a program in the background, with its output in $work/NAME.log, and waits
# for the text that matches the extended regular expression, of which the first group
# is the address. It sets address.
start() {
	local name=$1 expression=$2 log=$work/$1.log i
	shift 2
	: >"$log"
	"$@" >>"$log" 2>&1 &
	local pid=$!
	started+=("$pid")
	for ((i = 0; i < 300; i++)); do
		if [[ $(<"$log") =~ $expression ]]; then
			address=${BASH_REMATCH[1]}
			return
		fi
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	cat "$log" >&2
	die "$name does not start"
}

# sluice builds the program unless SLUICE names one, and sets SLUICE.
sluice() {
	[[ -z ${SLUICE:-} ]] || return 0
	go build -o "$cache/sluice" ./cmd/sluice || die "cannot build sluice"
	SLUICE=$cache/sluice
}

# serve starts sluice serve with the document policy in front of an upstream, with more
# flags, and sets address.
policy=$root/tools/conformance/policy.yaml
serve() {
	local name=$1 upstream=$2
	shift 2
	sluice
	start "$name" 'msg=serving listen=([0-9.:]+)' "$SLUICE" serve --policy "$policy" \
		--upstream "$upstream" --listen 127.0.0.1:0 --admin '' "$@"
}

# server starts a role of tools/conformance/servers, and sets address.
server() {
	built conformance/servers || die "cannot build tools/conformance/servers"
	start "$1" '^(127[0-9.:]+)' "$root/.cache/tools/conformance/servers" "$@"
}

# python makes a virtual environment with pinned packages, and sets bin to its programs.
python() {
	bin=$cache/python/bin
	if [[ ! -x $bin/python ]]; then
		command -v python3 >/dev/null || die "python3 is missing (3.11 or newer; on Debian: apt-get install python3-venv)"
		python3 -m venv "$cache/python" || die "cannot make a virtual environment (on Debian: apt-get install python3-venv)"
	fi
	"$bin/pip" install -q --disable-pip-version-check "$@" || die "cannot install $*"
}

# debian finds a program, on PATH or unpacked from packages of Debian into the cache, and
# sets program to its path. Packages after the first are libraries that it needs. It
# fails where there is neither.
debian() {
	local name=$1 place=$cache/debian
	shift
	program=$(PATH=$PATH:/usr/sbin command -v "$name") && return
	program=$(compgen -G "$place/usr/*bin/$name") && return
	command -v apt-get >/dev/null && command -v dpkg >/dev/null || return 1
	(
		cd "$work"
		apt-get download -q "$@" >apt.log 2>&1 || { cat apt.log >&2; exit 1; }
		for package in *.deb; do dpkg -x "$package" "$place" && rm "$package"; done
	) || return 1
	program=$(compgen -G "$place/usr/*bin/$name")
}

# Where the libraries of those packages are.
libraries=$cache/debian/usr/lib/$(uname -m)-linux-gnu
