package serve

import (
	"crypto/sha256"
	_ "embed" // for the page
	"encoding/base64"
	"net/http"
	"strings"
)

// pagePath is the path of the live page.
const pagePath = "/ui"

//go:embed page.html
var livePage string

// pagePolicy lets the page run its own script and style, and talk to this address alone.
var pagePolicy = "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; script-src " +
	hashOf(livePage, "script") + "; style-src " + hashOf(livePage, "style")

// hashOf returns the source expression of the element of a page that has the name.
func hashOf(page, element string) string {
	_, text, _ := strings.Cut(page, "<"+element+">")
	text, _, _ = strings.Cut(text, "</"+element+">")
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// handlePage adds the live page. It has no data: its script asks the routes for them, with
// the token that a person enters.
func (o *operator) handlePage(mux *http.ServeMux) {
	mux.HandleFunc("GET "+pagePath, func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", pagePolicy)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		_, _ = w.Write([]byte(livePage))
	})
}
