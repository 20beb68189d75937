package requests

import (
	"math/rand/v2"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/internal/testenv"
)

// TestCookieAndQuery has what is sent twice, and what servers split in two ways.
func TestCookieAndQuery(t *testing.T) {
	for line, want := range map[string]string{
		"sid=1": "1", "a=2; sid=1;b=3": "1", "sid=1; sid=1": "1", `sid="1"; sid=1`: "1", "sid=1; sid=2": "!", "sid = 1": "1", "sid": "", "xsid=1": "", "sid=\x80": "\x80",
	} {
		var c Cookie
		c.Add("x=y", "sid")
		c.Add(line, "sid")
		assert.Equal(t, want == "!", c.Several, line)
		assert.Equal(t, line != "xsid=1", c.Found, line)
		if !c.Several {
			assert.Equal(t, want, c.Value, line)
		}
	}
	for raw, want := range map[string]string{
		"": "", "x=1": "1", "a=2&x=1": "1", "x=1&x=1": "1", "x=1&x=%31": "1", "x=1&x=2": "!", "%78=1": "1", "x=1&%78=2": "!", "x=a%26b": "a&b", "x=%zz": "%zz", "x=%2": "%2",
		"x=1;y=2": "!", "y=2;x=1": "!", "y=2;z=3&x=1": "1", "x": "", "x=1&x": "!", "&&x=1&": "1", "x=a+b": "a b",
	} {
		got, plain := Query(raw, "x")
		assert.Equal(t, want == "!", !plain, raw)
		if plain {
			assert.Equal(t, want, got, raw)
		}
	}
}

// TestField has the spellings of one value, and values that are apart.
func TestField(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"authorization", "Bearer t", "bearer t"},
		{"authorization", "bearer t", "bearer t"},
		{"authorization", "\t BEARER \t  t\t", "bearer t"},
		{"authorization", "Bearer" + strings.Repeat(" ", 20) + "t", "bearer t"},
		{"proxy-authorization", "Basic  dTpw", "basic dTpw"},
		{"authorization", "Bearer T", "bearer T"},
		{"authorization", `Digest  username="A  B", realm="c"`, `digest username="A  B", realm="c"`},
		{"authorization", "KEY", "KEY"},
		{"authorization", " ", ""},
		{"authorization", "", ""},
		{"authorization", "\xc9\x80[@Z a", "\xc9\x80[@z a"},
		{"x-key", " \ta\t ", "a"},
		{"x-key", "Bearer  t", "Bearer  t"},
		{"x-authorization", "Bearer  t", "Bearer  t"},
	} {
		assert.Equal(t, c.want, Field(c.name, c.line), "%s: %q", c.name, c.line)
		assert.Equal(t, c.want, Field(c.name, c.want), "%s: %q again", c.name, c.line)
	}
}

// TestUnescape compares with net/url.
func TestUnescape(t *testing.T) {
	seed := testenv.Seed()
	random := rand.New(rand.NewPCG(seed, 1))
	for range 20_000 {
		text := make([]byte, random.IntN(10))
		for i := range text {
			text[i] = "%%%+a0fFg2 ;\xc3"[random.IntN(13)]
		}
		want, err := url.QueryUnescape(string(text))
		if err != nil {
			want = string(text)
		}
		require.Equal(t, want, unescape(string(text)), "SLUICE_SEED=%d %q", seed, text)
	}
}

// randomAddress returns an address of IPv4, of IPv6, or of IPv4 in IPv6.
func randomAddress(random *rand.Rand) netip.Addr {
	var bytes [16]byte
	for i := range bytes {
		if random.IntN(2) == 0 {
			bytes[i] = byte(random.IntN(256))
		}
	}
	switch random.IntN(4) {
	case 0:
		return netip.AddrFrom4([4]byte(bytes[:4]))
	case 1:
		return netip.AddrFrom16(netip.AddrFrom4([4]byte(bytes[:4])).As16())
	}
	return netip.AddrFrom16(bytes)
}

// TestNetwork compares with net/netip.
func TestNetwork(t *testing.T) {
	seed := testenv.Seed()
	random := rand.New(rand.NewPCG(seed, 2))
	for range 20_000 {
		address := randomAddress(random)
		v4, v6 := 1+random.IntN(32), 1+random.IntN(128)
		plain, bits := address.Unmap(), v6
		if plain.Is4() {
			bits = v4
		}
		prefix, err := plain.Prefix(bits)
		require.NoError(t, err)
		want := prefix.String()
		if bits == plain.BitLen() {
			want = plain.String()
		}
		for _, text := range []string{address.String(), netip.AddrPortFrom(address, 443).String()} {
			hop, ok := keyed.ParseHop(text)
			require.True(t, ok, "SLUICE_SEED=%d %s", seed, text)
			require.Equal(t, want, hop.Network(v4, v6), "SLUICE_SEED=%d %s %d %d", seed, text, v4, v6)
		}
	}
}

// TestParseAddress changes texts of addresses, hops and prefixes, and compares with
// net/netip.
func TestParseAddress(t *testing.T) {
	seed := testenv.Seed()
	random := rand.New(rand.NewPCG(seed, 3))
	good := 0
	for range 100_000 {
		text := []byte(randomAddress(random).String())
		if random.IntN(3) == 0 {
			text = append(text, "/"+strconv.Itoa(random.IntN(140))...)
		}
		for range random.IntN(3) {
			const signs = "::..//[]%0001f9 "
			at, sign := random.IntN(len(text)), signs[random.IntN(len(signs))]
			switch random.IntN(3) {
			case 0:
				text[at] = sign
			case 1:
				text = slices.Insert(text, at, sign)
			default:
				text = slices.Delete(text, at, at+1)
			}
			if len(text) == 0 {
				text = []byte{'0'}
			}
		}
		address, err := netip.ParseAddr(string(text))
		valid := err == nil && address.Zone() == ""
		got, ok := keyed.ParseAddress(string(text))
		require.Equal(t, valid, ok, "SLUICE_SEED=%d %s", seed, text)
		if ok {
			good++
			require.Equal(t, address.Unmap().String(), got.Network(32, 128), "SLUICE_SEED=%d %s", seed, text)
		}
		prefix, err := netip.ParsePrefix(string(text))
		valid = valid || err == nil
		_, ok = keyed.ParsePrefix(string(text))
		require.Equal(t, valid, ok, "SLUICE_SEED=%d %s: a prefix", seed, text)
		if err == nil {
			good++
			in := randomAddress(random)
			if random.IntN(2) == 0 {
				in = prefix.Masked().Addr()
			}
			own, _ := keyed.ParsePrefix(string(text))
			one, _ := keyed.ParseAddress(in.String())
			if prefix.Addr().Is4In6() && prefix.Bits() >= 96 {
				prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
			}
			require.Equal(t, prefix.Contains(in.Unmap()), own.Contains(one), "SLUICE_SEED=%d %s %s", seed, text, in)
		}
	}
	assert.Greater(t, good, 10_000)
}

// TestParseHop has what is around the address of a hop.
func TestParseHop(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "192.0.2.1:80": "192.0.2.1", "[2001:db8::1]:80": "2001:db8::1", "[2001:db8::1]": "2001:db8::1", "2001:db8::1": "2001:db8::1",
		"fe80::1%eth0": "fe80::1", "[fe80::1%eth0]:1": "fe80::1", "::ffff:192.0.2.1": "192.0.2.1",
		"": "", "@": "", "unknown": "", "_hidden": "", "192.0.2.1:x": "", "192.0.2.1:": "", "192.0.2.1:65536": "", "[::1": "", "[::1]x": "", "[::1]:": "", "[192.0.2.1]:80": "", "192.0.2.1%eth0": "", "fe80::1%": "",
	} {
		a, ok := keyed.ParseHop(text)
		assert.Equal(t, want != "", ok, text)
		if ok {
			assert.Equal(t, want, a.Network(32, 128), text)
		}
	}
}

// TestClient reads hops from the right, as far as they are trusted.
func TestClient(t *testing.T) {
	var trusted []keyed.Prefix
	for _, text := range []string{"10.0.0.0/8", "::ffff:192.168.0.0/112", "2001:db8::/32", "203.0.113.7"} {
		p, ok := keyed.ParsePrefix(text)
		require.True(t, ok, text)
		trusted = append(trusted, p)
	}
	for _, c := range []struct{ peer, forwarded, want string }{
		{"198.51.100.1", "203.0.113.1", "198.51.100.1"},
		{"10.0.0.1", "", "10.0.0.1"},
		{"10.0.0.1", "203.0.113.1", "203.0.113.1"},
		{"10.0.0.1", "6.6.6.6, 203.0.113.1", "203.0.113.1"},
		{"10.0.0.1", "203.0.113.1,2001:db8::5 ,\t[2001:db8::6]:443, 192.168.0.1:80", "203.0.113.1"},
		{"10.0.0.1", "203.0.113.1, unknown, 10.0.0.2", "10.0.0.2"},
		{"10.0.0.1", "203.0.113.1,", "10.0.0.1"},
		{"10.0.0.1", "10.0.0.3, 203.0.113.7", "10.0.0.3"},
		{"2001:db8::1", "::ffff:192.0.2.9", "192.0.2.9"},
	} {
		peer, ok := keyed.ParseHop(c.peer)
		require.True(t, ok)
		assert.Equal(t, c.want, Client(peer, c.forwarded, trusted).Network(32, 128), "%+v", c)
	}
}
