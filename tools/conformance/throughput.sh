#!/usr/bin/env bash
# Measures sluice serve with a policy of six steps beside httputil.ReverseProxy, nginx and
# Caddy: requests a second, latency and processor time a request, under wrk with 64
# connections. Rounds alternate; the table has their medians, and ratios to ReverseProxy
# as medians of those within a round. Linux alone has the times of processes.
#
#   ROUNDS=10 SECONDS_EACH=3   how many rounds, and how long each
#   GOGC=400                   of the programs in Go, what sluice serve sets by itself
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
rounds=${ROUNDS:-10} each=${SECONDS_EACH:-3}
export GOGC=${GOGC:-400}

debian wrk wrk libluajit-5.1-2 || die "wrk cannot be had (on Debian: apt-get install wrk)"
wrk=$program
names=() addresses=() pids=()
add() { names+=("$1") addresses+=("$2") pids+=("${started[-1]}"); }

# waits until an address takes connections.
listens() {
	local i
	for ((i = 0; i < 100; i++)); do
		(: <"/dev/tcp/${1%:*}/${1##*:}") 2>/dev/null && return
		sleep 0.1
	done
	die "$1 does not listen"
}

server origin
origin=$address
server plain -to "$origin"
add ReverseProxy "$address"
policy=$root/tools/conformance/throughput.yaml
serve sluice "http://$origin"
add "sluice serve" "$address"

port=$((20000 + RANDOM % 10000))
if debian nginx nginx; then
	mkdir "$work/nginx"
	cat >"$work/nginx/nginx.conf" <<CONF
daemon off;
worker_processes $(nproc);
pid $work/nginx/pid;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path $work/nginx/a; proxy_temp_path $work/nginx/b; fastcgi_temp_path $work/nginx/c;
  uwsgi_temp_path $work/nginx/d; scgi_temp_path $work/nginx/e;
  keepalive_requests 1000000;
  upstream service { server $origin; keepalive 256; keepalive_requests 1000000; }
  server {
    listen 127.0.0.1:$port;
    location / { proxy_pass http://service; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header X-Forwarded-For \$remote_addr; }
  }
}
CONF
	"$program" -p "$work/nginx" -c "$work/nginx/nginx.conf" -e "$work/nginx/log" >"$work/nginx.log" 2>&1 &
	started+=("$!")
	listens "127.0.0.1:$port"
	add "$("$program" -v 2>&1 | sed 's/.*nginx.\([0-9.]*\).*/nginx \1/')" "127.0.0.1:$port"
else
	echo "NOTE: nginx cannot be had" >&2
fi
if debian caddy caddy; then
	printf '{\n\tadmin off\n\tauto_https off\n\tlog {\n\t\tlevel ERROR\n\t}\n}\nhttp://127.0.0.1:%s {\n\treverse_proxy %s\n}\n' $((port + 1)) "$origin" >"$work/Caddyfile"
	HOME=$work XDG_DATA_HOME=$work XDG_CONFIG_HOME=$work "$program" run --config "$work/Caddyfile" >"$work/caddy.log" 2>&1 &
	started+=("$!")
	listens "127.0.0.1:$((port + 1))"
	add "Caddy $("$program" version | cut -d' ' -f1)" "127.0.0.1:$((port + 1))"
else
	echo "NOTE: Caddy cannot be had" >&2
fi

# ticks is the processor time of a process and of its children that run, in units of 10 ms.
ticks() {
	local pid sum=0 stat
	for pid in "$1" $(<"/proc/$1/task/$1/children"); do
		stat=$(<"/proc/$pid/stat")
		stat=${stat##*) }
		# shellcheck disable=SC2206 # fields
		stat=($stat)
		sum=$((sum + stat[11] + stat[12]))
	done
	echo "$sum"
}

# round prints: name, requests a second, p50 and p99 in ms, microseconds of processor time
# a request.
round() {
	local before after
	before=$(ticks "${pids[$1]}")
	LD_LIBRARY_PATH=$libraries "$wrk" -t1 -c64 -d"${each}s" --latency "http://${addresses[$1]}/" >"$work/wrk.txt"
	after=$(ticks "${pids[$1]}")
	! grep -E 'Non-2xx|Socket errors' "$work/wrk.txt" >&2 || die "${names[$1]} fails requests"
	awk -v name="${names[$1]}" -v ticks=$((after - before)) '
		function ms(t) { return t ~ /us$/ ? t / 1000 : t ~ /ms$/ ? t + 0 : t * 1000 }
		$1 == "50%" { p50 = ms($2) }
		$1 == "99%" { p99 = ms($2) }
		$2 == "requests" && $3 == "in" { n = $1 }
		/^Requests\/sec/ { rate = $2 }
		END { printf "%s\t%.0f\t%.2f\t%.2f\t%.1f\n", name, rate, p50, p99, ticks * 10000 / n }' "$work/wrk.txt"
}

load=$(cut -d' ' -f1 /proc/loadavg)
for ((i = 0; i < ${#names[@]}; i++)); do round "$i" >/dev/null; done # to warm up
for ((r = 0; r < rounds; r++)); do
	for ((i = 0; i < ${#names[@]}; i++)); do
		printf '%s\t' "$r"
		round "$i"
	done
done | tee "$work/rounds.txt" >&2

# median NAME FIELD [ratio] prints a median, or that of the ratios to ReverseProxy.
median() {
	awk -F'\t' -v name="$1" -v field="$2" -v ratio="${3:-}" '
		$2 == "ReverseProxy" { base[$1] = $field }
		$2 == name { mine[$1] = $field }
		END { for (r in mine) print ratio ? mine[r] / base[r] : mine[r] }' "$work/rounds.txt" | sort -n |
		awk '{ v[NR] = $1 } END { m = int((NR + 1) / 2); print NR % 2 ? v[m] : (v[m] + v[m + 1]) / 2 }'
}
printf '\n%s, %s CPUs, %s, GOGC %s, load average %s at the start, %s at the end; medians of %s rounds of %s s.\n\n' "$(date -u +%F)" "$(nproc)" \
	"$(go env GOVERSION)" "$GOGC" "$load" "$(cut -d' ' -f1 /proc/loadavg)" "$rounds" "$each"
echo "| proxy | requests/s | ratio | p50 ms | p99 ms | ratio | CPU us/request | ratio |"
echo "|---|---|---|---|---|---|---|---|"
for name in "${names[@]}"; do
	printf '| %s | %.0f | %.2f | %.2f | %.2f | %.2f | %.1f | %.2f |\n' "$name" "$(median "$name" 3)" "$(median "$name" 3 ratio)" \
		"$(median "$name" 4)" "$(median "$name" 5)" "$(median "$name" 5 ratio)" "$(median "$name" 6)" "$(median "$name" 6 ratio)"
done
