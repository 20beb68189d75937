package testenv

import (
	"math/rand/v2"
	"net/netip"
	"strings"
)

// forgeable are fields by which proxies tell the address of a client, in the spellings of
// servers that read them.
var forgeable = []string{
	"X-Forwarded-For", "X-Forwarded-For", "X-Forwarded-For", "X_Forwarded_For", "X-Forwarded_For", "Forwarded", "X-Real-IP", "X-Client-IP", "Client-IP", "True-Client-IP", "CF-Connecting-IP",
	"Fastly-Client-IP", "X-Cluster-Client-IP", "X-Original-Forwarded-For", "X-Forwarded", "Forwarded-For", "X-Envoy-External-Address", "X-Envoy-Internal", "X-Envoy-Original-Dst-Host",
	"Via", "X-ProxyUser-Ip", "X-Remote-IP", "X-Remote-Addr", "Remote-Addr",
}

// Forged draws the lines of a header by which a client claims addresses that are not its
// own, each "Name: value". One of them may be of the address it is to pass for.
func Forged(r *rand.Rand, victim netip.Addr) (lines []string) {
	for range 1 + r.IntN(4) {
		name := forgeable[r.IntN(len(forgeable))]
		switch r.IntN(4) {
		case 0:
			name = strings.ToLower(name)
		case 1:
			name = strings.ToUpper(name)
		}
		var list []string
		for range r.IntN(4) {
			list = append(list, claim(r, name, victim))
		}
		line := name + ": " + strings.Join(list, [...]string{", ", ",", " , ", ",\t"}[r.IntN(4)])
		for range 1 + r.IntN(2) {
			lines = append(lines, line)
		}
	}
	if r.IntN(4) == 0 {
		lines = append(lines, "Connection: "+[...]string{"x-forwarded-for", "X-Forwarded-For, close", "keep-alive, x-real-ip, x-forwarded-for"}[r.IntN(3)])
	}
	r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	return lines
}

// claim draws an address as a field of a name writes it, or what is none.
func claim(r *rand.Rand, name string, victim netip.Addr) string {
	a := victim
	if r.IntN(2) == 0 {
		a = Address(r)
	}
	text := a.WithZone("").String()
	switch r.IntN(6) {
	case 0:
		text = netip.AddrPortFrom(a.WithZone(""), 443).String()
	case 1:
		text = strings.ToUpper(text)
	case 2:
		return [...]string{"unknown", "_hidden", "", "localhost", "127.0.0.1", "::1", "0.0.0.0", "-", "\"", "10.0.0.1 10.0.0.2"}[r.IntN(10)]
	}
	if strings.EqualFold(name, "Forwarded") {
		text = "for=\"" + text + "\""
	}
	return text
}
