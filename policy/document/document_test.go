package document

import (
	"go/parser"
	"go/token"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/reducer"
)

// TestImports checks that the packages that a small runtime compiles import no large
// package.
func TestImports(t *testing.T) {
	allowed := []string{"slices", "strconv", "strings", "time", "unicode/utf8"}
	for _, folder := range []string{".", "../../internal/requests", "../tree"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			src, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			require.NoError(t, err)
			for _, spec := range src.Imports {
				path, err := strconv.Unquote(spec.Path.Value)
				require.NoError(t, err)
				const ours = "github.com/sluice-go/sluice/"
				pure := slices.Contains(allowed, path) || path == ours+"policy/tree" || path == ours+"internal/requests" || path == ours+"reducer" || strings.HasPrefix(path, ours+"core/")
				assert.True(t, pure, "%s imports %s", file, path)
			}
		}
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"10s": 10 * time.Second, "1d": 24 * time.Hour, "1d12h": 36 * time.Hour, "0.25d": 6 * time.Hour,
		"1.5h": 90 * time.Minute, ".5s": time.Second / 2, "1.s": time.Second, "1us": 1000, "1µs": 1000, "1μs": 1000,
		"0s": 0, "0.000000001s": 1, "2m2m": 4 * time.Minute, "0.5m": 30 * time.Second, "0.125d": 3 * time.Hour,
		"1.5000000000000000000000s": 1500 * time.Millisecond, "0001s": time.Second,
		longestText: 1<<63 - 1, "9223372036854775807ns": 1<<63 - 1,
	} {
		got, v := parseDuration(text, 0)
		assert.Equal(t, good, v, text)
		assert.Equal(t, want, got, text)
	}
	for text, want := range map[string]verdict{
		"": malformed, "s": malformed, ".s": malformed, "1x": malformed, "1 s": malformed, "1s ": malformed, "1e3s": malformed,
		"1w": malformed, "1S": malformed, "1s-1s": malformed, "1..5s": malformed, "٣s": malformed,
		"10": malformed, "1.5": malformed, "0": malformed, "1m30": malformed, "-1s": signed, "+1s": signed,
		"9223372036854775808ns": overlong, "106752d": overlong, "99999999999999999999999s": overlong,
		"9223372036854775807ns1ns": overlong, "213503d": overlong, "106751.9999d": overlong,
		"0.5ns": unwhole, "1.0000000001s": unwhole, "0.3333333333333333333333h": unwhole, "0.00000000000001d": unwhole,
	} {
		_, v := parseDuration(text, 0)
		assert.Equal(t, want, v, text)
	}
}

// TestParseDurationIsGos compares with package time: a text without a sign that
// package time accepts is accepted with the same value, unless package time rounds
// it.
func TestParseDurationIsGos(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"0", "1", "5", "27", "999", ".", "ns", "us", "µs", "ms", "s", "m", "h", "x", "12345678901"}
	accepted := 0
	for range 50_000 {
		text := ""
		for range 1 + random.IntN(6) {
			text += pieces[random.IntN(len(pieces))]
		}
		got, v := parseDuration(text, 0)
		want, err := time.ParseDuration(text)
		if v == good {
			require.NoError(t, err, text)
			require.Equal(t, want, got, text)
			accepted++
		} else if err == nil {
			require.True(t, v == unwhole || text == "0", text)
		}
	}
	assert.Greater(t, accepted, 1_000)
}

func TestFixed(t *testing.T) {
	for text, want := range map[string]uint64{"0": 0, "1": 10_000, "1.5": 15_000, "100.0000": 1_000_000, "0.0001": 1, "20.25": 202_500} {
		got, ok := fixed(text, 4)
		assert.True(t, ok, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", ".", "1.", ".5", "01", "1.00000", "-1", "+1", "1e1", "1.5.5", "429496.7296", "99999999999999999999", "1,5"} {
		_, ok := fixed(text, 4)
		assert.False(t, ok, text)
	}
}

func TestParseRate(t *testing.T) {
	for text, want := range map[string]struct {
		count  uint64
		period time.Duration
	}{
		"50/1m": {50, time.Minute}, "50/m": {50, time.Minute}, "1000/1h": {1000, time.Hour}, "1/ns": {1, 1},
		"5/1m30s": {5, 90 * time.Second}, "5/0.5s": {5, time.Second / 2}, "1/d": {1, 24 * time.Hour},
	} {
		count, period, v := parseRate(text, 1)
		assert.Equal(t, good, v, text)
		assert.Equal(t, want.count, count, text)
		assert.Equal(t, want.period, period, text)
	}
	for _, text := range []string{"", "/", "5/", "/s", "5", "5/5", "05/s", "5 /s", "5/ s", "-5/s", "5/-1s", "5.5/s", "5//s", "5/s/s", "5/x"} {
		_, _, v := parseRate(text, 1)
		assert.NotEqual(t, good, v, text)
	}
}

func TestParseByteRate(t *testing.T) {
	for text, want := range map[string]ByteRate{
		"1KiB/s": {1 << 10, time.Second}, "1B/ns": {1, 1}, "64MiB/1m30s": {64 << 20, 90 * time.Second},
		"1024GiB/s": {MaxBytes, time.Second}, "1099511627776B/s": {MaxBytes, time.Second}, "5B/0.5s": {5, time.Second / 2},
	} {
		got, v := parseByteRate(text)
		assert.Equal(t, good, v, text)
		assert.Equal(t, want, got, text)
	}
	for text, want := range map[string]verdict{
		"": malformed, "1": malformed, "1/s": malformed, "KiB/s": malformed, "1KiB": malformed, "1KB/s": malformed, "01B/s": malformed,
		"1KiB/": malformed, "1 KiB/s": malformed, "-1B/s": malformed, "1B/0s": tooFew, "0B/s": miscount, "1025GiB/s": miscount,
		"1099511627777B/s": miscount, "99999999999999999999GiB/s": miscount, "1B/-1s": signed,
	} {
		_, v := parseByteRate(text)
		assert.Equal(t, want, v, text)
	}
	for text, want := range map[string]string{"64 kb/s": "64KiB/s", "1 mib/S": "1MiB/s", "5bytes/m": "5B/m", "2g/s": "2GiB/s", "1x/s": "", "kb": "", "0kb/s": ""} {
		assert.Equal(t, want, respellBytes(text), text)
	}
}

func TestParsePercentile(t *testing.T) {
	for text, want := range map[string]uint32{"p95": 950_000, "p99.9": 999_000, "p100": reducer.Whole, "p0.0001": 1} {
		got, ok := parsePercentile(text)
		assert.True(t, ok, text)
		assert.Equal(t, reducer.Millionths(want), got, text)
	}
	for _, text := range []string{"", "p", "95", "95%", "p0", "p101", "p05", "p1.00001", "P95", "p95%", "p-1"} {
		_, ok := parsePercentile(text)
		assert.False(t, ok, text)
	}
}

func TestNearest(t *testing.T) {
	for name, want := range map[string]string{
		"timeouts": "timeout", "Retry": "retry", "brekaer": "breaker", "circuit_breaker": "breaker", "rate-limit": "limit",
		"ratelimiter": "limit", "bulk_head": "bulkhead", "rety": "retry", "x": "", "hedges": "hedge", "": "", "cache": "",
		strings.Repeat("retry", 20): "",
	} {
		assert.Equal(t, want, word(mechanismNames(), nearest(name, mechanismNames())), name)
	}
	assert.Equal(t, "policies", word("version policies routes", nearest("policy", "version policies routes")))
	assert.Equal(t, "attempts", word("attempts backoff", nearest("max_attempts", "attempts backoff")))
	assert.Equal(t, -1, nearest("id", "xy"))
}

func TestDistance(t *testing.T) {
	for pair, want := range map[[2]string]int{
		{"", ""}: 0, {"a", ""}: 1, {"", "abc"}: 3, {"open", "opne"}: 1, {"kitten", "sitting"}: 3, {"wait", "wait"}: 0,
	} {
		assert.Equal(t, want, distance(pair[0], pair[1], 3), pair)
		assert.Equal(t, want, distance(pair[1], pair[0], 3), pair)
	}
}

func TestOutcomes(t *testing.T) {
	read := func(outcomes string) *Outcomes {
		p, err := ParseOneJSON("p", []byte(`{"steps":[{"timeout":"1s"}],"outcomes":`+outcomes+`}`))
		require.NoError(t, err)
		return &p.Outcomes
	}
	for outcomes, want := range map[string]map[int]reducer.Outcome{
		`{}`:                              {200: reducer.OK, 302: reducer.OK, 404: reducer.Ignore, 429: reducer.Throttle, 500: reducer.Fail, 700: reducer.OK},
		`{"fail":[404]}`:                  {404: reducer.Fail, 403: reducer.Ignore, 500: reducer.OK},
		`{"fail":["5xx"],"ignore":[501]}`: {500: reducer.Fail, 501: reducer.Ignore, 404: reducer.OK},
		`{"fail":[429]}`:                  {429: reducer.Fail},
		`{"fail":["4xx"]}`:                {404: reducer.Fail, 429: reducer.Throttle},
		`{"throttle":[]}`:                 {429: reducer.Ignore},
		`{"ignore":["5xx"]}`:              {500: reducer.Ignore},
	} {
		for status, outcome := range want {
			assert.Equal(t, outcome, read(outcomes).OfStatus(status), "%s %d", outcomes, status)
		}
	}
	o := read(`{}`)
	assert.Equal(t, reducer.Fail, o.OfFailure(Connect))
	assert.Equal(t, reducer.Fail, o.OfFailure(Reset))
	assert.Equal(t, reducer.OK, o.OfFailure(NoAnswer))
	o = read(`{"throttle":["connect"],"ignore":["timeout"]}`)
	assert.Equal(t, reducer.Throttle, o.OfFailure(Connect))
	assert.Equal(t, reducer.Fail, o.OfFailure(Reset))
	assert.Equal(t, reducer.Ignore, o.OfFailure(NoAnswer))
}

func TestErrorText(t *testing.T) {
	e := &Error{File: "f", Found: "this", Allowed: "that"}
	assert.Equal(t, "f: found this; allowed that", e.Error())
	e.Line, e.Column, e.Path, e.Nearest = 2, 3, "a.b", "those"
	assert.Equal(t, "f:2:3: a.b: found this; allowed that; did you mean those?", e.Error())
	assert.Equal(t, `a["B c"][""].d-1`, JoinPath(JoinPath(JoinPath("a", "B c"), ""), "d-1"))
	assert.Equal(t, strings.Repeat("é", 32)+"...", shorten(strings.Repeat("é", 40)))
}

// TestParsePolicyJSON reads one policy of a document; the rest of it is checked, too.
func TestParsePolicyJSON(t *testing.T) {
	const one = `{"version":1,"policies":{"a":{"steps":[{"timeout":"1s"}]}},"routes":[{"path":"/**","policy":"a"}]}`
	const sections = `{"version":1,"policies":{"a":{"steps":[{"timeout":"1s"}]}},"http":{"paths":"strict","default":"a"},"proxy":{"slots":5}}`
	const two = `{"version":1,"policies":{"vendor":{"steps":[{"timeout":"1s"}]},"login":{"steps":[{"limit":"5/m"}]}}}`
	for _, c := range []struct{ src, name, want string }{
		{one, "", "a"}, {one, "a", "a"}, {sections, "", "a"}, {two, "login", "login"}, {two, "vendor", "vendor"},
	} {
		p, err := ParsePolicyJSON("p", []byte(c.src), c.name)
		require.NoError(t, err, c)
		assert.Equal(t, c.want, p.Name)
	}
	whole, err := ParseJSON("p", []byte(two))
	require.NoError(t, err)
	login, err := ParsePolicyJSON("p", []byte(two), "login")
	require.NoError(t, err)
	assert.Equal(t, whole.Lookup("login"), login)

	for _, c := range []struct{ src, name, want string }{
		{one, "b", `p:1:25: policies: found the policy "b", which is not there; allowed the name of a policy of this document: a`},
		{two, "vender", `p:1:25: policies: found the policy "vender", which is not there; allowed the name of a policy of this document: vendor or login; did you mean vendor?`},
		{two, "", `p:1:25: policies: found the policy "", which is not there; allowed the name of a policy of this document: vendor or login`},
		{`{"version":1,"policies":{"a":{"steps":[{"timeout":"1s"}]},"b":{}}}`, "a", `p:1:63: policies.b.steps: found nothing; allowed a list of steps, outermost first, or pass: true; it is required`},
		{`{"version":1,"policies":{"a":{"steps":[{"timeout":"1s"}]}},"routes":"anything"}`, "a", `p:1:69: routes: found the text "anything"; allowed a list of routes`},
		{`{"version":1,"policies":{"a":{"steps":[{"timeout":"1s"}]}},"http":{"paths":"strickt"},"proxy":5}`, "a", `p:1:76: http.paths: found the text "strickt"; allowed clean, strict or exact_bytes; did you mean strict?` + "\n" + `p:1:95: proxy: found the number 5; allowed a map of settings`},
		{`{"version":1,"policies":[]}`, "a", `p:1:25: policies: found an empty list; allowed a map of policies by name, one or more`},
		{`[]`, "", `p:1:1: found an empty list; allowed a policy document: a map of version, policies and routes`},
		{`{`, "", `p:1:2: found the end of the document; allowed a name in double quotes`},
	} {
		p, err := ParsePolicyJSON("p", []byte(c.src), c.name)
		assert.Nil(t, p, c)
		assert.EqualError(t, err, c.want)
	}
}

// TestLists compares the order of the lists of names with the kinds.
func TestLists(t *testing.T) {
	for k := mechanism.Timeout; k <= mechanism.Hedge; k++ {
		assert.Equal(t, int(k)-1, index(mechanismNames(), k.String()))
		assert.Equal(t, k, rowOf(k.String()).Kind)
	}
	const list = "limit retry"
	assert.Equal(t, "retry", word(list, 1))
	assert.Equal(t, -1, index(list, ""))
	assert.Equal(t, -1, index(list, "limits"))
	assert.Equal(t, "", word(list, -1))
	assert.Equal(t, "", word(list, 2))
	assert.Equal(t, "a, b or c", orList("a b c"))
	assert.Equal(t, "a", orList("a"))
	assert.Equal(t, "", orList(""))
	for _, failure := range []Failure{Connect, Reset, NoAnswer} {
		assert.GreaterOrEqual(t, index(entryNames, string(failure)), 0)
	}
}
