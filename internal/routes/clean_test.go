package routes

import (
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/testenv"
)

func TestClean(t *testing.T) {
	for path, want := range map[string]string{
		"": "/", "/": "/", "*": "*", "x": "x",
		"/a/b": "/a/b", "/a/b/": "/a/b/", "/.well-known/x": "/.well-known/x", "/a..b/...": "/a..b/...",
		"/%61dmin/x": "/admin/x", "/admin%2Fx": "/admin/x", "/admin%2fx": "/admin/x", "//admin/x": "/admin/x", "/./admin/x": "/admin/x",
		"/%2e%2E/admin": "/admin", "/..": "/", "/.": "/", "/a/..": "/", "/a/b/..": "/a/", "/a/.": "/a/", "/a//": "/a/",
		"/a//../b": "/b", "/a/%2e%2e%2fb": "/b", "/a/../../b": "/b", "//": "/",
		"/a%20b": "/a%20b", "/%c3%a9": "/%C3%A9", "/é": "/%C3%A9", "/a%3bb": "/a%3Bb", "/a;b=1": "/a;b=1", "/%40me": "/%40me", "/@me": "/@me",
		"/%2561dmin": "/%2561dmin", "/a%3Fb": "/a%3Fb", "/a%2A": "/a%2A", "/%7Eu": "/~u", "/a;/../b": "/b",
	} {
		got, err := Clean(path)
		require.NoError(t, err, path)
		assert.Equal(t, want, got, path)
		again, err := Clean(got)
		require.NoError(t, err, path)
		assert.Equal(t, got, again, "the clean form of %s is clean", path)
	}
	for path, want := range map[string]error{
		"/%": errEscape, "/%4": errEscape, "/%zz": errEscape, "/a%-1": errEscape,
		"/a%00": errControl, "/a%0a": errControl, "/%7F": errControl,
		`/..\admin`: errBackslash, "/..%5Cadmin": errBackslash, "/%5c": errBackslash,
		"/%c0%af": errUTF8, "/%e0%80%af": errUTF8, "/%c0%ae%c0%ae/x": errUTF8, "/%ff": errUTF8, "/%ed%a0%80": errUTF8, "/%E9": errUTF8,
		"/a/..;/admin": errDots, "/.;x=1/admin": errDots, "/..;": errDots, "/%2e%2e;x/a": errDots, "/..%3B/a": errDots,
	} {
		_, err := Clean(path)
		assert.Equal(t, want, err, path)
	}
}

// TestCleanIsWhatIsDecoded compares clean forms of random paths with the clean forms of a
// server that decodes once and resolves dots and slashes.
func TestCleanIsWhatIsDecoded(t *testing.T) {
	seed := testenv.Seed()
	random := rand.New(rand.NewPCG(seed, 1))
	pieces := []string{"/", "/", "/", ".", "..", "a", "b", "%2F", "%2e", "%61", "%20", ";", "%3B", "%25", "é", "%C3%a9", "@", "%40"}
	for range 20_000 {
		var text strings.Builder
		text.WriteString("/")
		for range random.IntN(8) {
			text.WriteString(pieces[random.IntN(len(pieces))])
		}
		path := text.String()
		clean, err := Clean(path)
		if err != nil {
			require.Equal(t, errDots, err, "SLUICE_SEED=%d %s", seed, path)
			continue
		}
		decoded, err := url.PathUnescape(path)
		require.NoError(t, err)
		got, err := url.PathUnescape(clean)
		require.NoError(t, err)
		require.Equal(t, serverPath(decoded), got, "SLUICE_SEED=%d %s", seed, path)
		again, err := Clean(clean)
		require.NoError(t, err)
		require.Equal(t, clean, again, "SLUICE_SEED=%d %s", seed, path)
		key := Key(clean)
		other, err := url.PathUnescape(key)
		require.NoError(t, err)
		require.Equal(t, got, other, "the key means the same path: %s", path)
	}
}

// serverPath resolves dots and slashes of a decoded path with a stack.
func serverPath(path string) string {
	var stack []string
	segments := strings.Split(path[1:], "/")
	for _, s := range segments {
		switch s {
		case "", ".":
		case "..":
			if len(stack) > 0 {
				stack = stack[:len(stack)-1]
			}
		default:
			stack = append(stack, s)
		}
	}
	last := segments[len(segments)-1]
	if len(stack) > 0 && (last == "" || last == "." || last == "..") {
		stack = append(stack, "")
	}
	return "/" + strings.Join(stack, "/")
}

func TestKey(t *testing.T) {
	assert.Equal(t, "/users/@me", Key("/users/%40me"))
	assert.Equal(t, "/a%20b%2541", Key("/a%20b%2541"))
	assert.Equal(t, "/a;b", Key("/a%3Bb"))
}

func TestHost(t *testing.T) {
	for host, want := range map[string]string{
		"": "", "API.Test": "api.test", "api.test:8443": "api.test", "api.test.": "api.test", "api.test.:443": "api.test",
		"[2001:DB8::1]:80": "2001:db8::1", "[::1]": "::1", "::1": "::1", "a:": "a",
	} {
		assert.Equal(t, want, Host(host), host)
	}
}
