#!/usr/bin/env bash
# Measures the memory of 100,000 keys in sluice serve: resident before and after 100,000
# requests with a key each, the most that was resident, and the heap. The controls are
# sluice serve with one limit for all, httputil.ReverseProxy without limits, and nginx with
# a zone of limit_req for as many keys. It fails when sluice serve had more than 60 MB
# resident. Linux alone has the files under /proc that it reads.
#
#   KEYS=100000   how many keys
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
keys=${KEYS:-100000} limit=$((60 * 1000 * 1000))

server origin
origin=$address

# resident prints the bytes that a process and its children have resident. What they
# share counts once.
resident() {
	local pid=$1 sum=0 kb field=Rss
	local children=$(<"/proc/$pid/task/$pid/children")
	[[ -z $children ]] || field=Pss
	for pid in "$pid" $children; do
		kb=$(awk -v field="$field:" '$1 == field { print $2 }' "/proc/$pid/smaps_rollup")
		sum=$((sum + kb * 1024))
	done
	echo "$sum"
}

# peak prints the most bytes that a process without children had resident.
peak() { awk '$1 == "VmHWM:" { print $2 * 1024 }' "/proc/$1/status"; }

# metric prints a metric of an admin address.
metric() { curl -fsS "http://$1/metrics" | awk -v name="$2" 'index($1, name) == 1 && !n++ { printf "%d\n", $2 }'; }

# measure NAME ADDRESS PID [ADMIN] prints a row, and sets used and most.
measure() {
	local before heap='' key=''
	most=0
	"$root/.cache/tools/conformance/servers" keys -to "$2" -n 1
	before=$(resident "$3")
	"$root/.cache/tools/conformance/servers" keys -to "$2" -n "$keys"
	used=$(resident "$3")
	if [[ -n ${4:-} ]]; then
		most=$(peak "$3") heap=$(metric "$4" go_memstats_heap_inuse_bytes) key=$(metric "$4" sluice_key_bytes)
	fi
	awk -v name="$1" -v before="$before" -v used="$used" -v most="$most" -v heap="$heap" -v key="$key" '
		function mb(n) { return n > 0 ? sprintf("%.1f MB", n / 1e6) : "-" }
		BEGIN { printf "| %s | %s | %s | %s | %s | %s |\n", name, mb(before), mb(used), mb(most), mb(heap), mb(key) }'
}

# proxy starts sluice serve with a policy and an admin address, and sets address and admin.
proxy() {
	local name=$1 text=$2
	echo "$text" >"$work/$name.yaml"
	sluice
	start "$name" 'msg=serving listen=([0-9.:]+)' "$SLUICE" serve --policy "$work/$name.yaml" --upstream "http://$origin" \
		--listen 127.0.0.1:0 --admin 127.0.0.1:0
	[[ $(<"$work/$name.log") =~ admin=([0-9.:]+) ]] || die "no admin address"
	admin=${BASH_REMATCH[1]}
}

printf '\n%s, %s, %s requests with a key of 32 bytes each.\n\n' "$(date -u +%F)" "$(go env GOVERSION)" "$keys"
echo "| proxy | resident before | resident after | at most | heap in use | cells, estimated |"
echo "|---|---|---|---|---|---|"
server plain -to "$origin"
measure ReverseProxy "$address" "${started[-1]}"
proxy single 'version: 1
policies: {api: {steps: [{limit: {rate: 1000000/1s, burst: 1000000}}]}}
http: {default: api}'
measure "sluice serve, one limit for all" "$address" "${started[-1]}" "$admin"
proxy keyed "version: 1
policies: {api: {steps: [{limit: {rate: 10/1s, burst: 10, per: 'header:x-key', keys: $keys}}]}}
http: {default: api}"
measure "sluice serve, a limit for each key" "$address" "${started[-1]}" "$admin"
sluice_most=$most
if debian nginx nginx; then
	mkdir "$work/nginx"
	port=$((20000 + RANDOM % 10000))
	cat >"$work/nginx/nginx.conf" <<CONF
daemon off;
worker_processes $(nproc);
pid $work/nginx/pid;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path $work/nginx/a; proxy_temp_path $work/nginx/b; fastcgi_temp_path $work/nginx/c;
  uwsgi_temp_path $work/nginx/d; scgi_temp_path $work/nginx/e;
  limit_req_zone \$http_x_key zone=keys:$((keys / 10000 + 6))m rate=10r/s;
  upstream service { server $origin; keepalive 64; }
  server {
    listen 127.0.0.1:$port;
    location / { limit_req zone=keys burst=10 nodelay; proxy_pass http://service; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}
CONF
	"$program" -p "$work/nginx" -c "$work/nginx/nginx.conf" -e "$work/nginx/log" >"$work/nginx.log" 2>&1 &
	started+=("$!")
	for ((i = 0; i < 100; i++)); do
		(: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
		sleep 0.1
	done
	measure "$("$program" -v 2>&1 | sed 's/.*nginx.\([0-9.]*\).*/nginx \1/'), \`limit_req\`, all processes" "127.0.0.1:$port" "$!"
else
	echo "NOTE: nginx cannot be had" >&2
fi
((sluice_most <= limit)) || die "sluice serve had $sluice_most bytes resident with $keys keys; at most $limit are allowed"
