package routes

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
)

// tableOf reads a document of one policy p, with the given sections after it.
func tableOf(t testing.TB, lines ...string) *Table {
	t.Helper()
	doc, err := policy.Parse("p.yaml", []byte("version: 1\npolicies: {p: {steps: [timeout: 1s]}}\n"+strings.Join(lines, "\n")))
	require.NoError(t, err)
	return New(doc)
}

// index returns the index of the first route that matches, -2 for a refusal.
func index(table *Table, host, method, path string) int {
	m, err := table.Match(host, method, path)
	if err != nil {
		return -2
	}
	return m.Index
}

func TestMatch(t *testing.T) {
	for pattern, paths := range map[string]struct{ yes, no []string }{
		"/":           {[]string{"/", "", "//", "/."}, []string{"/a", "x"}},
		"/api":        {[]string{"/api", "//api", "/%61pi", "/x/../api"}, []string{"/api/", "/API", "/apis", "/", "/%2561pi"}},
		"/api/":       {[]string{"/api/", "/api//", "/api/."}, []string{"/api", "/api/x"}},
		"/api/*":      {[]string{"/api/x", "/api//x", "/api%2Fx"}, []string{"/api", "/api/", "/api/x/", "/api/x/y"}},
		"/api/**":     {[]string{"/api", "/api/", "/api/x", "/api/x/y/", "/api//"}, []string{"/apis", "/", "/x/api"}},
		"/**":         {[]string{"/", "/x", "/x/y", ""}, []string{"x", "*"}},
		"/*/b":        {[]string{"/a/b"}, []string{"/b", "/a/c", "/a/b/c", "//b"}},
		"/**/b":       {[]string{"/b", "/a/b", "/a/b/b", "/a/a/b"}, []string{"/", "/a", "/b/a"}},
		"/a/**/b/**":  {[]string{"/a/b", "/a/x/b/y", "/a/b/b"}, []string{"/a", "/a/x", "/b"}},
		"/a/**/*":     {[]string{"/a/x", "/a/x/y"}, []string{"/a", "/a/"}},
		"/a/**/**":    {[]string{"/a", "/a/b"}, []string{"/b"}},
		"/**/a/*/b/c": {[]string{"/a/a/x/b/c", "/a/x/b/b/a/y/b/c"}, []string{"/a/x/b/c/d", "/a/b/c"}},
		"/users/@me":  {[]string{"/users/%40me", "/users/@me"}, nil},
		"/%C3%A9":     {[]string{"/%c3%a9", "/é"}, nil},
		"//x":         {[]string{"/x", "//x"}, nil},
		"/x%2Fy":      {[]string{"/x/y", "/x%2fy"}, nil},
		"/%2A":        {[]string{"/*", "/%2a"}, []string{"/x"}},
	} {
		table := tableOf(t, "routes: [{path: \""+pattern+"\", policy: p}]")
		for _, path := range paths.yes {
			assert.Equal(t, 0, index(table, "h", "GET", path), "%s %s", pattern, path)
		}
		for _, path := range paths.no {
			assert.Equal(t, -1, index(table, "h", "GET", path), "%s %s", pattern, path)
		}
	}
}

func TestMatchHostsAndMethods(t *testing.T) {
	table := tableOf(t, `routes:
  - {path: /login, method: POST, policy: p}
  - {path: /**, host: "*.example.com", method: [GET], policy: p}
  - {path: /x, host: localhost, policy: p}
  - {path: /h, method: HEAD, policy: p}
  - {path: /h, method: GET, policy: p}`)
	for _, c := range []struct {
		host, method, path string
		want               int
	}{
		{"any", "POST", "/login", 0}, {"any", "GET", "/login", -1}, {"any", "post", "/login", -1},
		{"a.example.com", "GET", "/login", 1}, {"A.B.EXAMPLE.com.:80", "HEAD", "/", 1}, {"a.example.com", "", "/", 1},
		{"example.com", "GET", "/", -1}, {".example.com", "GET", "/", -1}, {"a.example.com", "POST", "/", -1}, {"a.example.com.org", "GET", "/", -1},
		{"LocalHost.", "DELETE", "/x", 2}, {"localhost:1", "BREW", "/x", 2}, {"localhost2", "DELETE", "/x", -1},
		{"any", "HEAD", "/h", 3}, {"any", "GET", "/h", 4}, {strings.Repeat("a.", 1000) + "example.com", "GET", "/", 1},
	} {
		assert.Equal(t, c.want, index(table, c.host, c.method, c.path), c)
	}
}

func TestMatchPath(t *testing.T) {
	const routes = "routes: [{path: /a/**, policy: p}, {path: /raw/**, policy: p, http: {paths: exact_bytes}}, {path: /s/**, policy: p, http: {paths: strict}}]"
	for _, c := range []struct {
		paths, path string
		want        int
		sent        string
	}{
		{"clean", "/%61/%2e/x%2Fy%3f", 0, "/a/x/y%3F"},
		{"clean", "//b", -1, "/b"},
		{"clean", "/b%00", -2, ""},
		{"clean", "/raw/x%2Fy//%5C", 1, "/raw/x%2Fy//%5C"},
		{"clean", "/%72aw/x", -1, "/raw/x"}, // a path that decodes to it was not compared with it
		{"clean", "/s/x", 2, "/s/x"},
		{"clean", "//s/x", -2, ""},
		{"strict", "/a/x", 0, "/a/x"},
		{"strict", "/%61/x", -2, ""},
		{"strict", "//b", -2, ""},
		{"exact_bytes", "/a//x%2F", 0, "/a//x%2F"},
		{"exact_bytes", "/%61/x", -1, "/%61/x"},
		{"exact_bytes", "/b%00", -1, "/b%00"},
		{"exact_bytes", "/s//x", -2, ""},
	} {
		m, err := tableOf(t, "http: {paths: "+c.paths+"}", routes).Match("h", "GET", c.path)
		if c.want == -2 {
			var refused *PathError
			require.ErrorAs(t, err, &refused, "%v", c)
			assert.NotEmpty(t, refused.Reason)
			continue
		}
		require.NoError(t, err, "%v", c)
		assert.Equal(t, c.want, m.Index, "%v", c)
		assert.Equal(t, c.sent, m.Path, "%v", c)
		if c.want < 0 {
			assert.Nil(t, m.Route)
		} else {
			assert.Same(t, &m.Route.HTTP, m.HTTP)
		}
	}
	// Without routes no path is compared, so no path is changed.
	m, err := tableOf(t).Match("h", "GET", "//a%00")
	require.NoError(t, err)
	assert.Equal(t, "//a%00", m.Path)
	assert.Equal(t, -2, index(tableOf(t, "http: {paths: strict}"), "h", "GET", "//a"))
}

// TestMatchParams has paths that mean one thing to a server that removes
// parameters and another one to a server that does not.
func TestMatchParams(t *testing.T) {
	table := tableOf(t, "routes: [{path: /admin/**, policy: p}, {path: /v;x=1/y, policy: p}, {path: /v/y, policy: p}, {path: /**, policy: p}]")
	for path, want := range map[string]int{
		"/admin/x;jsessionid=1": 0, "/other;a=1": 3, "/admin;a/x": -2, "/;/admin/x": -2, "/v;x=1/y": 1, "/v;x=2/y": -2, "/admin%3Ba/x": 3,
	} {
		assert.Equal(t, want, index(table, "h", "GET", path), path)
	}
	assert.Equal(t, -2, index(tableOf(t, "routes: [{path: /admin/**, policy: p}]"), "h", "GET", "/admin;a/x"), "matched without the parameters alone")
}

// loop is the simple definition: the first route of the list that matches.
func loop(doc *document.Document, host, method, path string) int {
	for i := range doc.Routes {
		r := &doc.Routes[i]
		below, star := strings.CutPrefix(r.Host, "*")
		switch {
		case star && (len(host) <= len(below) || !strings.HasSuffix(host, below)), !star && r.Host != "" && r.Host != host:
		case len(r.Methods) > 0 && !slices.Contains(r.Methods, method) && (method != "HEAD" || !slices.Contains(r.Methods, "GET")):
		case naive(strings.Split(r.Path, "/")[1:], strings.Split(path, "/")[1:]):
			return i
		}
	}
	return -1
}

// naive matches segment by segment and tries every length of **.
func naive(pattern, path []string) bool {
	switch {
	case len(pattern) == 0:
		return len(path) == 0
	case pattern[0] == "**":
		return naive(pattern[1:], path) || len(path) > 0 && naive(pattern, path[1:])
	}
	return len(path) > 0 && (pattern[0] == path[0] || pattern[0] == "*" && path[0] != "") && naive(pattern[1:], path[1:])
}

// randomRoutes makes a document of routes that overlap.
func randomRoutes(random *rand.Rand) *document.Document {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	doc := &document.Document{}
	for range 1 + random.IntN(30) {
		r := document.Route{Host: pick("", "", "a.b", "*.b", "c.a.b", "*.a.b")}
		for range 1 + random.IntN(4) {
			r.Path += "/" + pick("a", "a", "b", "*", "**")
		}
		r.Path += pick("", "", "/")
		if random.IntN(2) == 0 {
			r.Methods = [][]string{{"GET"}, {"HEAD"}, {"POST", "GET"}, {"POST"}}[random.IntN(4)]
		}
		if random.IntN(2) == 0 {
			r.HTTP.Paths = document.PathsExactBytes
		}
		doc.Routes = append(doc.Routes, r)
	}
	return doc
}

// TestTreesAreTheLoop compares the trees with the simple loop on random routes and
// requests.
func TestTreesAreTheLoop(t *testing.T) {
	seed := testenv.Seed()
	found := 0
	for i := range uint64(testenv.Cases(600)) {
		random := rand.New(rand.NewPCG(seed, i))
		pick := func(list ...string) string { return list[random.IntN(len(list))] }
		doc := randomRoutes(random)
		table := New(doc)
		reached := make([]bool, len(doc.Routes))
		for range 200 {
			host, method, path := pick("a.b", "c.a.b", "d.c.a.b", "b", "x"), pick("GET", "HEAD", "POST", "PUT"), ""
			for range 1 + random.IntN(6) {
				path += "/" + pick("a", "b", "c")
			}
			path += pick("", "", "/")
			want := loop(doc, host, method, path)
			require.Equal(t, want, index(table, host, method, path), "SLUICE_SEED=%d, case %d: %s %s%s\n%v", seed, i, method, host, path, doc.Routes)
			if want >= 0 {
				found++
				reached[want] = true
			}
		}
		for j := range doc.Routes {
			by, ok := table.Reachable(j)
			require.False(t, reached[j] && !ok, "SLUICE_SEED=%d, case %d: route %d is reached, and not behind %d\n%v", seed, i, j, by, doc.Routes)
		}
	}
	assert.Greater(t, found, 1000)
}

func TestReachable(t *testing.T) {
	table := tableOf(t, `routes:
  - {path: /a/*, method: GET, policy: p}
  - {path: /a/x, method: HEAD, policy: p}
  - {path: /a/x, policy: p}
  - {path: /a/**, host: "*.b.c", policy: p}
  - {path: /a/**/y, host: a.b.c, policy: p}
  - {path: /**, policy: p}
  - {path: /z, method: [GET, POST], host: h, policy: p}
  - {path: /%00, policy: p}
  - {path: /a%5Cb, policy: p, http: {paths: exact_bytes}}`)
	for i, want := range []int{0: 0, 1: -2, 2: 0, 3: 0, 4: -2, 5: 0, 6: -2, 7: -2, 8: 0} {
		by, ok := table.Reachable(i)
		assert.Equal(t, want == 0, ok, "route %d", i)
		if !ok {
			assert.Equal(t, map[int]int{1: 0, 4: 3, 6: 5, 7: -1}[i], by, "route %d", i)
		}
	}
}

// TestMatchAllocatesNothing holds for a clean path and for any number of routes.
func TestMatchAllocatesNothing(t *testing.T) {
	table := New(many(100))
	n := testing.AllocsPerRun(100, func() {
		if index(table, "h7.example.com", "GET", "/api/v1/things/42/parts") != 7 {
			t.Fatal("another route")
		}
	})
	assert.Zero(t, n)
}

// many makes a document of n routes, for hosts and paths of their own, and one
// that matches all.
func many(n int) *document.Document {
	doc := &document.Document{}
	for i := range n - 1 {
		r := document.Route{Path: fmt.Sprintf("/service%d/**/parts", i)}
		if i < 10 {
			r = document.Route{Path: "/api/*/things/**", Host: fmt.Sprintf("h%d.example.com", i)}
		}
		doc.Routes = append(doc.Routes, r)
	}
	doc.Routes = append(doc.Routes, document.Route{Path: "/**"})
	return doc
}

// BenchmarkMatch shows that the cost does not depend on the number of routes.
func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		table := New(many(n))
		last := fmt.Sprintf("/service%d/a/b/parts", n-2)
		for name, path := range map[string]string{"first": "/api/v1/things/42", "last": last, "unclean": "/%61pi//v1/things/42"} {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, _ = table.Match("h1.example.com:443", "GET", path)
				}
			})
		}
	}
}
