package document

import (
	"strings"
	"time"

	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy/tree"
)

// Defaults of the sections.
const (
	defaultBodyTimeout = 30 * time.Second
	defaultStreamIdle  = 5 * time.Minute
	defaultIPv4Prefix  = 32
	defaultIPv6Prefix  = 64
)

// defaultBodyRate is 1KiB/s.
func defaultBodyRate() ByteRate { return ByteRate{Bytes: 1 << 10, Period: time.Second} }

// defaultHTTP has the settings of a document without the section.
func defaultHTTP() HTTP {
	return HTTP{BodyTimeout: defaultBodyTimeout, BodyRate: defaultBodyRate(), StreamIdle: defaultStreamIdle}
}

// Names of the settings for HTTP of a document, and of a route.
const (
	routeSettings = "body stream_idle lifetime paths"
	httpSettings  = routeSettings + " default"
)

// http reads the section of the document, or of a route, which has fewer names.
// Settings that it leaves out stay as they are.
func (r *reader) http(n *tree.Node, known string, h *HTTP) (f fields) {
	if !f.read(r, n, "a map of settings", known) {
		return f
	}
	if n := f.get("body"); n != nil {
		r.body(n, h)
	}
	f.durationOrNone("stream_idle", &h.StreamIdle)
	f.durationOrNone("lifetime", &h.Lifetime)
	if n := f.get("paths"); n != nil {
		h.Paths = Paths(max(r.asWord(n, pathWords), 0))
	}
	return f
}

// body reads how long a client may take for the body of its request.
func (r *reader) body(n *tree.Node, h *HTTP) {
	var f fields
	if !f.read(r, n, "a map of timeout and min_rate", "timeout min_rate") {
		return
	}
	f.durationOrNone("timeout", &h.BodyTimeout)
	if n := f.get("min_rate"); n != nil {
		r.asByteRate(n, &h.BodyRate)
	}
}

// durationOrNone reads the entry of a name, if it is there; none is 0.
func (f *fields) durationOrNone(name string, into *time.Duration) {
	n := f.get(name)
	if n == nil {
		return
	}
	if n.Kind == tree.Text && n.Text == noneWord {
		*into = 0
		return
	}
	d, v := parseDuration(n.Text, 1)
	if n.Kind == tree.Text && v == good {
		*into = d
		return
	}
	p := f.mistyped(n, "none, or $d; more than 0")
	if n.Kind == tree.Text && v == malformed {
		p.hint, p.x = aDuration, 1
	}
}

// noneWord is the word of a document for no bound.
const noneWord = "none"

// byteUnits are the units of a byte rate in the order of their sizes, each 1024
// times the one before.
const byteUnits = "B KiB MiB GiB"

// MaxBytes is the greatest number of bytes in a ByteRate, 1 TiB.
const MaxBytes = 1 << 40

// parseByteRate reads COUNT, a unit, and /DURATION.
func parseByteRate(text string) (ByteRate, verdict) {
	number, duration, ok := strings.Cut(text, "/")
	if !ok {
		return ByteRate{}, malformed
	}
	count, unit := cutNumber(number)
	size := index(byteUnits, unit)
	if _, whole := parseWhole(number[:len(number)-len(unit)]); !whole || size < 0 {
		return ByteRate{}, malformed
	}
	var period time.Duration
	v := good
	if one, rest := cutUnit(duration); one > 0 && rest == "" {
		period = time.Duration(one)
	} else if period, v = parseDuration(duration, 1); v != good {
		return ByteRate{}, v
	}
	shift := 10 * size
	if count == 0 || count > MaxBytes>>shift {
		return ByteRate{}, miscount
	}
	return ByteRate{Bytes: count << shift, Period: period}, good
}

// asByteRate reads none or a byte rate.
func (r *reader) asByteRate(n *tree.Node, into *ByteRate) {
	if n.Kind == tree.Text && n.Text == noneWord {
		*into = ByteRate{}
		return
	}
	rate, v := parseByteRate(n.Text)
	if n.Kind == tree.Text && v == good {
		*into = rate
		return
	}
	p := r.mistyped(n, "none, or a byte rate COUNT UNIT/DURATION as in 1KiB/s, the unit B, KiB, MiB or GiB, the duration with its unit (ns, us, ms, s, m, h, d)")
	switch {
	case n.Kind != tree.Text:
	case v == miscount:
		p.allowed = "a byte rate of at least 1 byte and at most 1024GiB for the duration"
	case v == malformed:
		p.near = respellBytes(n.Text)
	}
}

// respellBytes returns a byte rate with its unit corrected, "" for a text that is not
// near one: 64kb/s is 64KiB/s.
func respellBytes(text string) string {
	_, rest := cutNumber(text)
	slash := strings.IndexByte(rest, '/')
	if slash < 1 || len(text) > longestName {
		return ""
	}
	unit := "B"
	switch strings.Trim(lower(rest[:slash]), " ") {
	case "b", "byte", "bytes":
	case "k", "kb", "kib":
		unit = "KiB"
	case "m", "mb", "mib":
		unit = "MiB"
	case "g", "gb", "gib":
		unit = "GiB"
	default:
		return ""
	}
	near := text[:len(text)-len(rest)] + unit + lower(rest[slash:])
	if _, v := parseByteRate(near); v != good {
		return ""
	}
	return near
}

// unmatched reads the answer to a request that no route matches. The words pass and
// deny keep their meaning, also where a policy has that name.
func (r *reader) unmatched(n *tree.Node, h *HTTP, doc *Document, names string) {
	if !r.isText(n, unmatchedText) {
		return
	}
	h.Stated = true
	switch i := index(unmatchedWords, n.Text); {
	case i >= 0:
		h.Unmatched = Unmatched(i)
	case doc.Lookup(n.Text) != nil:
		h.Unmatched, h.Default = UnmatchedPolicy, n.Text
	default:
		known := unmatchedWords + " " + names
		near := ""
		if !r.full() {
			near = word(known, nearest(n.Text, known))
		}
		r.fail(n, "the policy $q, which is not there", unmatchedText).near = near
	}
}

// unmatchedWords are in the order of Unmatched.
const (
	unmatchedWords = "pass deny"
	unmatchedText  = "pass, deny, or the name of a policy of this document"
)

// proxy reads the section for the filter of a proxy.
func (r *reader) proxy(n *tree.Node, p *Proxy) {
	p.Stated = true
	var f fields
	const known = "state slots headers legacy_headers ratelimited_header trusted_proxies ipv4_prefix ipv6_prefix key cost trace"
	if !f.read(r, n, "a map of settings", known) {
		return
	}
	if n := f.get("state"); n != nil {
		p.State = ProxyState(max(r.asWord(n, "process worker"), 0))
	}
	f.integer("slots", 1, pipeline.MaxKeys, &p.Slots)
	if n := f.get("headers"); n != nil {
		p.Headers = Headers(max(r.asWord(n, "refusals all"), 0))
	}
	if n := f.get("legacy_headers"); n != nil {
		p.LegacyHeaders = r.asBool(n)
	}
	if n := f.get("ratelimited_header"); n != nil {
		p.RateLimitedHeader = r.asBool(n)
	}
	if n := f.get("trusted_proxies"); n != nil {
		r.prefixes(n, p)
	}
	f.integer("ipv4_prefix", 1, 32, &p.IPv4Prefix)
	f.integer("ipv6_prefix", 1, 128, &p.IPv6Prefix)
	r.source(f.get("key"), &p.Key)
	r.source(f.get("cost"), &p.Cost)
	if n := f.get("trace"); n != nil {
		p.Trace = Trace(max(r.asWord(n, "off sample request record"), 0))
	}
}

// prefixes reads one prefix of addresses or a list of them.
func (r *reader) prefixes(n *tree.Node, p *Proxy) {
	const one = "an address or a prefix, as in 10.0.0.0/8 or 2001:db8::/32"
	items, allowed := []*tree.Node{n}, one+", or a list of them"
	if n.Kind == tree.List {
		items, allowed = n.Items, one
	}
	for _, item := range items {
		if !r.isText(item, allowed) {
			continue
		}
		if prefix, ok := keyed.ParsePrefix(item.Text); ok {
			p.TrustedProxies = append(p.TrustedProxies, prefix)
		} else {
			r.mistyped(item, allowed)
		}
	}
}

// source reads where a value of a request is found, nil for no entry.
func (r *reader) source(n *tree.Node, into *string) {
	const allowed = "header:NAME with the name in lower case, or property:PATH with names between slashes, as in property:connection/requested_server_name"
	if n == nil || !r.isText(n, allowed) {
		return
	}
	kind, name, _ := strings.Cut(n.Text, ":")
	switch {
	case kind == "header" && isMadeOf(name, tokenSigns):
	case kind == "property" && isPath(name):
	default:
		r.mistyped(n, allowed)
		return
	}
	*into = n.Text
}

// isPath reports whether a text has one name or more, with slashes between them, in
// printable ASCII.
func isPath(text string) bool {
	for name := range strings.SplitSeq(text, "/") {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return false
		}
	}
	return true
}
