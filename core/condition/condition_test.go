package condition

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/sluice-go/sluice/reducer"
)

func TestMatches(t *testing.T) {
	all := func(attribute string, values ...string) Condition {
		return Condition{{All: []Entry{{attribute, values}}}}
	}
	for _, c := range []struct {
		condition Condition
		call      map[string]string
		want      bool
	}{
		{all("key", "a", "b"), map[string]string{"key": "b"}, true},
		{all("key", "a", "b"), map[string]string{"key": "c"}, false},
		{all("key", "a"), nil, false},
		{all("key", ""), nil, true},
		{Condition{{None: []Entry{{"key", []string{"a"}}, {"host", []string{"h"}}}}}, map[string]string{"host": "h"}, false},
		{Condition{{None: []Entry{{"key", []string{"a"}}, {"host", []string{"h"}}}}}, nil, true},
		{Condition{{All: []Entry{{"key", []string{"a"}}, {"host", []string{"h"}}}}}, map[string]string{"key": "a"}, false},
		{append(all("key", "a"), all("host", "h")...), map[string]string{"host": "h"}, true},
		{all("ip", "10.0.0.0/8"), map[string]string{"ip": "10.255.0.1"}, true},
		{all("ip", "10.0.0.0/8"), map[string]string{"ip": "::ffff:10.0.0.1"}, true},
		{all("ip", "10.0.0.0/8"), map[string]string{"ip": "11.0.0.1"}, false},
		{all("ip", "10.0.0.0/8"), map[string]string{"ip": "10.0.0.0/9"}, true},
		{all("ip", "10.0.0.0/8"), map[string]string{"ip": "10.0.0.0/7"}, true},
		{all("ip", "2001:db8::/32"), map[string]string{"ip": "2001:db8:1:2::/64"}, true},
		{all("ip", "2001:db8::1"), map[string]string{"ip": "2001:db8::/64"}, false},
		// One address, of which the key has 64 bits.
		{all("ip", "2001:db8:1:2::5"), map[string]string{"ip": "2001:db8:1:2::5/64"}, true},
		{all("ip", "2001:db8:1:2::6"), map[string]string{"ip": "2001:db8:1:2::5/64"}, false},
		{all("ip", "2001:db8:1:2::/65"), map[string]string{"ip": "2001:db8:1:2::5/64"}, true},
		{all("ip", "2001:DB8:1:2:8000::/65"), map[string]string{"ip": "2001:db8:1:2::5/64"}, false},
		{all("ip", "192.0.2.7"), map[string]string{"ip": "192.0.2.7/24"}, true},
		// A credential is one in all spellings.
		{all("header:authorization", "Bearer T"), map[string]string{"header:authorization": "bearer T"}, true},
		{all("header:authorization", "bearer T"), map[string]string{"header:authorization": " BEARER \t T "}, true},
		{all("header:proxy-authorization", " Basic  T"), map[string]string{"header:proxy-authorization": "basic T"}, true},
		{all("header:authorization", "Bearer T"), map[string]string{"header:authorization": "bearer t"}, false},
		{all("header:authorization", "Bearer T"), nil, false},
		{all("header:authorization", ""), nil, true},
		{all("header:x-token", "Bearer T"), map[string]string{"header:x-token": "bearer T"}, false},
		// What is around an address.
		{all("ip", "fe80::1"), map[string]string{"ip": "FE80::1%eth0"}, true},
		{all("ip", "fe80::1"), map[string]string{"ip": "[fe80::1%eth0]:80/64"}, true},
		{all("ip", "10.0.0.0/8"), map[string]string{"ip": "10.0.0.1:80"}, true},
		{all("ip", "::/0"), map[string]string{"ip": "fe80::1/129"}, false},
		{all("ip", "::/0"), map[string]string{"ip": "10.0.0.1"}, false},
		{all("ip", "10.0.0.0/8"), map[string]string{"ip": "a name"}, false},
		{all("ip", "10.0.0.0/8", ""), nil, true},
		{Condition{{None: []Entry{{"ip", []string{"10.0.0.0/8"}}}}}, map[string]string{"ip": "a name"}, true},
	} {
		test, err := New("when", c.condition)
		if err != nil || !test.Some() {
			t.Fatal(c.condition, err)
		}
		if got := test.Matches(func(name string) string { return c.call[name] }); got != c.want {
			t.Errorf("%s of %v: %v", c.condition, c.call, got)
		}
	}
	if none, err := New("when", nil); err != nil || none.Some() || none.Matches(func(string) string { return "" }) {
		t.Error("no condition matches something")
	}
}

func TestBounds(t *testing.T) {
	values := slices.Repeat([]string{"a"}, MaxValues+1)
	entries := slices.Repeat([]Entry{{"key", []string{"a"}}}, MaxEntries+1)
	for name, c := range map[string]Condition{
		"no entry": {{}}, "no value": {{All: []Entry{{"key", nil}}}}, "too many values": {{All: []Entry{{"key", values}}}},
		"too many entries": {{All: entries}}, "too many cases": slices.Repeat(Condition{{All: entries[:1]}}, MaxCases+1),
		"no prefix": {{None: []Entry{{"ip", []string{"10.0.0.0/33"}}}}},
	} {
		_, err := New("when", c)
		var wrong *reducer.ConfigError
		if !errors.As(err, &wrong) || wrong.Field != "when" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, s := range []Share{{By: "key"}, {Of: reducer.Millionths(reducer.Whole + 1)}} {
		if s.Check("enforce") == nil {
			t.Errorf("%v is valid", s)
		}
	}
}

// TestShare: a share has about as many values as it says, and a smaller one some of them.
func TestShare(t *testing.T) {
	small, large := Share{Of: reducer.Percent(10)}, Share{Of: reducer.Percent(50)}
	counts, other := [2]int{}, 0
	for i := range 100_000 {
		value := "user-" + strconv.Itoa(i)
		if small.Has("limit", value) {
			if counts[0]++; !large.Has("limit", value) {
				t.Fatalf("%s is in 10%% and not in 50%%", value)
			}
			if small.Has("breaker", value) {
				other++
			}
		}
		if large.Has("limit", value) {
			counts[1]++
		}
	}
	if counts[0] < 9_700 || counts[0] > 10_300 || counts[1] < 49_500 || counts[1] > 50_500 {
		t.Errorf("shares of %v", counts)
	}
	if other < 850 || other > 1_150 {
		t.Errorf("of 10 %% at one step %d are in the share of another step", other)
	}
	// All addresses of a network belong to the share, or none does.
	byIP, in := Share{Of: reducer.Percent(50), By: "ip"}, map[bool]int{}
	for network := range 1000 {
		of := func(host string) bool {
			return byIP.Has("limit", "2001:db8:0:"+strconv.FormatInt(int64(network), 16)+"::"+host+"/64")
		}
		if of("1") != of("2") {
			t.Fatalf("network %d is in the share by one of its addresses", network)
		}
		in[of("1")]++
	}
	if in[true] < 400 || in[false] < 400 {
		t.Errorf("of 1000 networks %v belong to a share of 50%%", in)
	}
	// The same in every runtime.
	for value, want := range map[string]uint32{"": 0x4cf5e862, "ada": 0x8181c92a, "ü": 0xf55ee405} {
		if got := hash("limit", value); got != want {
			t.Errorf("the hash of %q is %#x", value, got)
		}
	}
}

func TestTexts(t *testing.T) {
	c := Condition{{All: []Entry{{"header:plan", []string{"free", ""}}}, None: []Entry{{"method", []string{"GET"}}}}, {All: []Entry{{"key", slices.Repeat([]string{"a"}, 9)}}}}
	want := "header:plan is free or missing, method is not GET; or key is a or a or a or a or a or a or a or a or another value"
	if got := c.String(); got != want {
		t.Error(got)
	}
	if got := c.Attributes(); !slices.Equal(got, []string{"header:plan", "method", "key"}) {
		t.Error(got)
	}
	both := c.And([]Entry{{"host", []string{"h"}}}, nil)
	if len(both[0].All) != 2 || len(both[1].All) != 2 || len(c[0].All) != 1 {
		t.Error(both)
	}
}
