package requests

import (
	"math/rand/v2"
	"net/netip"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

func TestNumber(t *testing.T) {
	for text, want := range map[string]int64{"": -1, "0": 0, "007": 7, "503": 503, "-1": -1, "+1": -1, "1.0": -1, "999999999999999999": 999_999_999_999_999_999, "1000000000000000000": -1} {
		n, ok := Number(text)
		assert.Equal(t, want >= 0, ok, text)
		assert.Equal(t, max(want, 0), n, text)
	}
}

// TestNetwork compares with net/netip.
func TestNetwork(t *testing.T) {
	seed := testenv.Seed()
	random := rand.New(rand.NewPCG(seed, 2))
	for range 20_000 {
		var bytes [16]byte
		for i := range bytes {
			if random.IntN(2) == 0 {
				bytes[i] = byte(random.IntN(256))
			}
		}
		address := netip.AddrFrom16(bytes)
		switch random.IntN(4) {
		case 0:
			address = netip.AddrFrom4([4]byte(bytes[:4]))
		case 1:
			address = netip.AddrFrom16(netip.AddrFrom4([4]byte(bytes[:4])).As16())
		}
		want := address.Unmap().String()
		if !address.Unmap().Is4() {
			prefix, err := address.Prefix(64)
			require.NoError(t, err)
			want = prefix.String()
		}
		for _, text := range []string{address.String(), netip.AddrPortFrom(address, 443).String()} {
			require.Equal(t, want, Network(text), "SLUICE_SEED=%d %s", seed, text)
		}
	}
	assert.Equal(t, "@", Network("@"))
	assert.Equal(t, "fe80::/64", Network("[fe80::1%eth0]:1"))
	for _, text := range []string{"[::1", "1:2:3", "x::y", "::1:2:3:4:5:6:7:8:9"} {
		assert.Equal(t, text, Network(text))
	}
}
