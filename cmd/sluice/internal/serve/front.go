package serve

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/bindings/nethttp"
)

// refuse answers a request that a proxy must not send on, and reports whether it was
// one. From the others it takes the upgrades that a client may not ask for.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case r.Method == "PRI" && r.ProtoMajor == 2:
		// The preface of HTTP/2 (RFC 9113 section 3.4), which the server of net/http
		// hands to handlers.
		decline(w, r, http.StatusHTTPVersionNotSupported, "The preface of HTTP/2 is the first thing on a connection.")
	case r.Method == http.MethodConnect, r.Method == "PRI":
		decline(w, r, http.StatusNotImplemented, "The method "+r.Method+" is not supported.")
	case r.Host == "" && r.ProtoAtLeast(1, 1):
		// Only requests of HTTP/1.0 may have none (RFC 9110 section 7.2).
		decline(w, r, http.StatusBadRequest, "The request has no host.")
	case slices.ContainsFunc(r.Header["Via"], func(line string) bool { return strings.Contains(line, s.name) }):
		s.log.Warn("a request came back: the upstream leads to this proxy", "path", r.URL.Path, "upstream", names(s.upstreams))
		decline(w, r, http.StatusLoopDetected, "The upstream of this proxy is the proxy itself.")
	default:
		s.limitUpgrade(r)
		return false
	}
	return true
}

// limitUpgrade leaves of the upgrades that a client asks for the one that may pass. A
// server may ignore the others (RFC 9110 section 7.8). One that passes takes the
// connection out of reach of the policy: requests of HTTP/2 on it would not be
// guarded.
func (s *Server) limitUpgrade(r *http.Request) {
	delete(r.Header, "Http2-Settings")
	lines, asked := r.Header["Upgrade"]
	if !asked {
		return
	}
	protocol := strings.ToLower(strings.TrimSpace(strings.Join(lines, ",")))
	if r.Method != http.MethodGet || r.ContentLength != 0 || !slices.Contains(s.config.Upgrades, protocol) {
		delete(r.Header, "Upgrade")
	}
}

// decline answers with a problem document and closes the connection.
func decline(w http.ResponseWriter, r *http.Request, status int, detail string) {
	if r.ProtoMajor == 1 || r.Method == "PRI" {
		w.Header().Set("Connection", "close")
	}
	answer(w, r, status, detail)
}

// answer answers with a problem document (RFC 9457), or in the form of gRPC.
func answer(w http.ResponseWriter, r *http.Request, status int, detail string) {
	if nethttp.AnswerGRPC(w, r, status, detail) {
		return
	}
	// Strings and a number cannot fail.
	body, _ := json.Marshal(map[string]any{
		"type": "about:blank", "title": http.StatusText(status), "status": status, "detail": detail,
	})
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
