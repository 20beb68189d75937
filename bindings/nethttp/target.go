package nethttp

import (
	"net/http"
	"net/netip"
	"strings"
)

// checkTarget refuses a request that came in whose first line, or whose host, can be read
// in more than one way: another server might serve another path, or another host, than
// those about which the policy is asked.
//
// Two forms of a target are served (RFC 9112 section 3.2): the origin form, and the
// absolute form of http and https, whose host net/http has made the host of the request. The
// third is the asterisk of OPTIONS.
func checkTarget(r *http.Request) error {
	u := r.URL
	switch {
	case r.Method == http.MethodConnect, u == nil, u.Opaque != "", u.User != nil:
		return errTarget
	case u.Scheme != "" && (u.Scheme != "http" && u.Scheme != "https" || u.Host == ""):
		return errTarget
	case r.RequestURI != "" && r.RequestURI[0] != '/' && u.Scheme == "" && !isAsterisk(r), !isTarget(r.RequestURI), !isTarget(u.RawQuery):
		return errTarget
	case !isMethod(r.Method):
		return errMethod
	case r.Host != "" && !isHost(r.Host), u.Host != "" && !isHost(u.Host):
		return errHost
	}
	for _, line := range r.Header["Host"] {
		// HTTP/2 has the host in :authority, and may have the field as well (RFC 9113
		// section 8.3.1).
		if !strings.EqualFold(line, r.Host) {
			return errHost
		}
	}
	return nil
}

// The errors of checkTarget.
var (
	errTarget = &RequestError{Status: http.StatusBadRequest, Reason: "target", Detail: "The target of the request is neither a path nor an http URL."}
	errMethod = &RequestError{Status: http.StatusBadRequest, Reason: "method", Detail: "The method of the request is no token."}
	errHost   = &RequestError{Status: http.StatusBadRequest, Reason: "host", Detail: "The host of the request is no host, or there are two."}
)

// isAsterisk reports whether a request is OPTIONS *, which is about a server and not about
// something on it (RFC 9110 section 9.3.7).
func isAsterisk(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.URL != nil && r.URL.Path == "*" && r.URL.RawQuery == "" && r.URL.Scheme == "" && r.URL.Host == ""
}

// answerAsterisk answers OPTIONS * for a proxy: it is asked of the next server, and no path
// of the upstream stands for it.
func answerAsterisk(w http.ResponseWriter) {
	w.Header()["Content-Length"] = []string{"0"}
	w.WriteHeader(http.StatusOK)
}

// isTarget reports whether a target, or a part of it, has no character that ends it, or
// the line. Others that a URL does not have are sent as escapes, or in a query as they are.
func isTarget(text string) bool { return consists(text, ofTarget) }

// isMethod reports whether a method is a token; the empty one is GET.
func isMethod(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodPost, http.MethodHead, http.MethodPut, http.MethodDelete:
		return true
	}
	return consists(method, ofToken)
}

// isHost reports whether a text is a host with or without a port (RFC 3986 section 3.2.2):
// a name, an address of IPv4, or one of IPv6 in brackets. A name has no escapes, which
// name resolution does not know.
func isHost(text string) bool {
	if consists(text, ofName) {
		return text != ""
	}
	host, port := text, ""
	if strings.HasPrefix(text, "[") {
		end := strings.IndexByte(text, ']')
		if end < 0 {
			return false
		}
		address, err := netip.ParseAddr(text[1:end])
		if err != nil || !address.Is6() || address.Zone() != "" {
			return false
		}
		host, port = "", text[end+1:]
		if port != "" && port[0] != ':' {
			return false
		}
		port = strings.TrimPrefix(port, ":")
	} else if colon := strings.IndexByte(text, ':'); colon >= 0 {
		host, port = text[:colon], text[colon+1:]
		if host == "" {
			return false
		}
	}
	return consists(port, ofPort) && consists(host, ofName)
}

// The texts of which a character may be a part.
const (
	ofTarget = 1 << iota
	ofToken  // RFC 9110 section 5.6.2
	ofName   // of a host, without escapes
	ofPort
)

// partOf says of which texts each character may be a part. Every request that comes in is
// read with it.
var partOf = func() (t [256]uint8) {
	for c := range len(t) {
		if c > ' ' && c != 0x7f && c != '#' {
			t[c] |= ofTarget
		}
		switch {
		case '0' <= c && c <= '9':
			t[c] |= ofToken | ofName | ofPort
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			t[c] |= ofToken | ofName
		}
	}
	for _, c := range []byte("!#$%&'*+-.^_`|~") {
		t[c] |= ofToken
	}
	for _, c := range []byte("-._~!$&'()*+,;=") {
		t[c] |= ofName
	}
	return t
}()

// consists reports whether all characters of a text may be a part of a text of the kind.
func consists(text string, of uint8) bool {
	for i := range len(text) {
		of &= partOf[text[i]]
	}
	return of != 0
}
