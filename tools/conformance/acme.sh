#!/usr/bin/env bash
# Has sluice serve get a certificate by ACME from pebble, the test authority of Let's
# Encrypt, which verifies by TLS-ALPN and finds names by a test server of DNS. It fails
# when a client that trusts pebble alone gets no answer, when a second start asks for
# another certificate, when pebble needs a certificate of a client, or when a request with
# such certificates required needs none.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
version=v2.10.1
pebble=github.com/letsencrypt/pebble/v2

for name in pebble pebble-challtestsrv; do
	[[ -x $cache/pebble-$version/$name ]] && continue
	GOBIN=$cache/pebble-$version GOWORK=off go install "$pebble/cmd/$name@$version" || die "$name $version cannot be installed"
done
for name in curl openssl; do command -v "$name" >/dev/null || die "$name is missing"; done
# The certificate of pebble's own address, which is for localhost, and its authority.
certs=$(GOWORK=off go mod download -json "$pebble@$version" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')/test/certs

# free prints a port of the loopback that no server has.
port=$((20000 + RANDOM % 10000))
free() {
	while (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done
	echo "$port"
}
directory=$(free) && port=$((port + 1))
management=$(free) && port=$((port + 1))
names=$(free) && port=$((port + 1))
front=$(free)
cat >"$work/pebble.json" <<JSON
{"pebble": {"listenAddress": "127.0.0.1:$directory", "managementListenAddress": "127.0.0.1:$management",
  "certificate": "$certs/localhost/cert.pem", "privateKey": "$certs/localhost/key.pem", "httpPort": 1, "tlsPort": $front}}
JSON
start names 'Starting (management) server' "$cache/pebble-$version/pebble-challtestsrv" -defaultIPv4 127.0.0.1 -defaultIPv6 '' \
	-dnsserver "127.0.0.1:$names" -http01 '' -https01 '' -tlsalpn01 '' -doh '' -management 127.0.0.1:0
start pebble '(ACME directory available)' env PEBBLE_VA_NOSLEEP=1 PEBBLE_WFE_NONCEREJECT=0 \
	"$cache/pebble-$version/pebble" -config "$work/pebble.json" -dnsserver "127.0.0.1:$names"

# An authority of clients, and a client of it.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=clients -keyout "$work/ca.key" -out "$work/ca.pem" 2>/dev/null
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=client -keyout "$work/client.key" -out "$work/client.csr" 2>/dev/null
openssl x509 -req -in "$work/client.csr" -CA "$work/ca.pem" -CAkey "$work/ca.key" -CAcreateserial -days 1 -out "$work/client.pem" 2>/dev/null

server origin
origin=$address
curl -fsS --cacert "$certs/pebble.minica.pem" "https://localhost:$management/roots/0" >"$work/root.pem"
export SSL_CERT_FILE=$certs/pebble.minica.pem # for serve, which trusts pebble by it

# request prints the answer to a request, and the serial number of the certificate.
request() {
	curl -sS --max-time 60 --cacert "$work/root.pem" --resolve "www.sluice.test:$front:127.0.0.1" "$@" "https://www.sluice.test:$front/" || true
	openssl s_client -connect "127.0.0.1:$front" -servername www.sluice.test </dev/null 2>/dev/null | openssl x509 -noout -serial -issuer 2>&1 || true
}

# proxy starts serve with the flags of ACME and more.
proxy() {
	local name=$1
	shift
	sluice
	start "$name" 'msg=serving listen=([0-9.:]+)' "$SLUICE" serve --policy "$policy" --upstream "http://$origin" --listen "127.0.0.1:$front" --admin '' \
		--acme-host www.sluice.test --acme-cache "$work/$1" --acme-directory "https://localhost:$directory/dir" "${@:2}"
}
stop() {
	kill "${started[-1]}"
	wait "${started[-1]}" 2>/dev/null || true
}

say "a name that has no certificate yet"
proxy first certificates
request | tee "$work/first.txt"
grep -q '^ok$' "$work/first.txt" || { cat "$work/pebble.log" "$work/first.log"; die "no answer with a certificate of pebble"; }
stop
say "a second start"
proxy second certificates
request | tee "$work/second.txt"
cmp "$work/first.txt" "$work/second.txt" || die "the certificate was not kept"
stop
say "certificates of clients"
proxy third others --tls-client-ca "$work/ca.pem"
request --cert "$work/client.pem" --key "$work/client.key" | tee "$work/third.txt"
grep -q '^ok$' "$work/third.txt" || { cat "$work/third.log"; die "no answer to a client with a certificate"; }
request >"$work/fourth.txt" 2>&1
! grep -q '^ok$' "$work/fourth.txt" || die "an answer to a client without a certificate"
