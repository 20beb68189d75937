package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/operate"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/decision"
)

const operated = `
version: 1
policies:
  api: {steps: [{breaker: {window: {consecutive: 3}, open: 10s}}, {limit: {rate: 2/1h, per: header:x-client}}]}
  keys: {steps: [{breaker: {window: {consecutive: 1}, open: 1h, per: header:x-client}}]}
routes:
  - {path: /api/**, policy: api}
  - {path: /keys/**, policy: keys}
`

const (
	opsToken  = "0123456789abcdef-ops"
	pageToken = "0123456789abcdef-page"
)

// runOperated serves the document with tokens.
func runOperated(t *testing.T) *proxy {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(file, []byte("# of the team\nops "+opsToken+"\n\n"+pageToken+"\n"), 0o600))
	return run(t, operated, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Fail") != "" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}), func(c *Config) { c.AdminTokens = file })
}

// ask sends a request with the token ops and returns the status and the body.
func (p *proxy) ask(t *testing.T, method, path, body string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, p.admin+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+opsToken)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	asDescribed(t, r, resp, body, text)
	return resp.StatusCode, string(text)
}

// asDescribed compares a request that was served, and its answer, with the document of
// OpenAPI. It leaves out requests that are no route of it.
func asDescribed(t *testing.T, r *http.Request, resp *http.Response, sent string, got []byte) {
	t.Helper()
	described, err := openapi3.NewLoader().LoadFromData(operate.OpenAPI)
	require.NoError(t, err)
	require.NoError(t, described.Validate(t.Context()))
	described.Servers = openapi3.Servers{{URL: strings.TrimSuffix(operate.Root, "/")}}
	router, err := gorillamux.NewRouter(described)
	require.NoError(t, err)
	r.URL.Scheme, r.URL.Host, r.Host = "", "", ""
	route, values, err := router.FindRoute(r)
	if err != nil && (resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusUnauthorized) {
		return // without a token every path is answered alike
	}
	require.NoError(t, err, "%s %s is no route", r.Method, r.URL)
	r.Body = io.NopCloser(strings.NewReader(sent))
	if sent != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	in := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: values, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true},
	}
	if resp.StatusCode < 300 {
		require.NoError(t, openapi3filter.ValidateRequest(t.Context(), in))
	}
	require.NoError(t, openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: resp.StatusCode, Header: resp.Header, Body: io.NopCloser(bytes.NewReader(got)), Options: in.Options,
	}), "%s %s", r.Method, r.URL)
}

// do makes a change that must succeed.
func (p *proxy) do(t *testing.T, path, body string, header ...string) {
	t.Helper()
	status, text := p.ask(t, http.MethodPost, "/api/steps/"+path, body, header...)
	require.Equal(t, 204, status, "%s", text)
}

func decode[T any](t *testing.T, text string) (v T) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &v), text)
	return v
}

func TestOperateIsDescribed(t *testing.T) {
	status, text := runOperated(t).ask(t, "GET", "/api/openapi.yaml", "")
	assert.Equal(t, 200, status)
	assert.Equal(t, string(operate.OpenAPI), text)
}

func TestOperateBreaker(t *testing.T) {
	p := runOperated(t)
	p.do(t, "api/breaker/open", `{"reason": "deploy of the vendor"}`, "Sluice-Author", "ann")
	line := p.journal.await(t, "changed by hand")
	assert.Equal(t, "WARN", line["level"])
	for name, want := range map[string]string{"action": "open", "policy": "api", "step": "breaker", "by": "ops:ann",
		"why": "deploy of the vendor"} {
		assert.Equal(t, want, line[name], name)
	}
	assert.Contains(t, line["peer"], "127.0.0.1:")
	resp, _ := get(t, p.url+"/api/x")
	assert.Equal(t, 503, resp.StatusCode)
	assert.Contains(t, p.metric(t, "sluice_breaker_state"), `{policy="api",state="forced-open",step="breaker"} 1`)

	for range 2 {
		get(t, p.url+"/keys/x", "X-Client", "bad", "X-Fail", "1")
	}
	get(t, p.url+"/keys/x", "X-Client", "good")
	_, text := p.ask(t, "GET", "/api/breakers", "")
	list := decode[[]operate.Breaker](t, text)
	require.Len(t, list, 2)
	assert.Equal(t, "api.breaker  forced-open", list[0].Policy+"."+list[0].Step+" "+list[0].Key+" "+list[0].Mode)
	assert.WithinDuration(t, time.Now(), *list[0].Since, time.Minute)
	assert.Equal(t, "keys.breaker bad open", list[1].Policy+"."+list[1].Step+" "+list[1].Key+" "+list[1].Mode)
	left, err := time.ParseDuration(list[1].Left)
	require.NoError(t, err)
	assert.InDelta(t, time.Hour, left, float64(time.Minute))
	p.do(t, "keys/breaker/forgive", `{"reason": "mended", "key": ["bad"]}`)
	_, text = p.ask(t, "GET", "/api/breakers", "")
	assert.Len(t, decode[[]operate.Breaker](t, text), 1)

	p.do(t, "api/breaker/close", `{"reason": "done"}`)
	resp, _ = get(t, p.url+"/api/x")
	assert.Equal(t, 200, resp.StatusCode)
	p.do(t, "api/breaker/open", `{"reason": "again", "for": "1h"}`)
	resp, _ = get(t, p.url+"/api/x")
	assert.Regexp(t, `^3(600|59\d)$`, resp.Header.Get("Retry-After"))
	p.do(t, "api/breaker/transition", `{"reason": "again", "mode": "metrics-only"}`)
	p.do(t, "api/breaker/reset", `{"reason": "again"}`)

	_, text = p.ask(t, "GET", "/api/events?n=2", "")
	events := decode[[]operate.Event](t, text)
	require.Len(t, events, 2)
	assert.Equal(t, "change closed", events[0].Kind+" "+events[0].Mode)
	assert.Equal(t, "manual reset ops again", events[1].Kind+" "+events[1].Action+" "+events[1].By+" "+events[1].Why)
}

func TestOperateKeys(t *testing.T) {
	p := runOperated(t)
	call := func(client string) (int, string) {
		resp, body := get(t, p.url+"/api/x", "X-Client", client)
		return resp.StatusCode, resp.Header.Get("X-Throttle-Reason") + resp.Header.Get("Retry-After") + body
	}
	p.do(t, "api/limit/block", `{"reason": "scraper", "key": ["bad"], "for": "1h"}`)
	status, text := call("bad")
	assert.Equal(t, 429, status)
	assert.Regexp(t, `^blocked3(600|59\d)`, text)
	assert.Contains(t, text, "Requests of this client are blocked")
	status, _ = call("good")
	assert.Equal(t, 200, status)
	_, text = p.ask(t, "GET", "/api/steps/api/limit/blocked", "")
	blocked := decode[[]operate.BlockedKey](t, text)
	require.Len(t, blocked, 1)
	assert.Equal(t, []string{"bad"}, blocked[0].Key)
	_, text = p.ask(t, "GET", "/api/steps/api/limit?key=bad", "")
	s := decode[operate.Step](t, text)
	assert.NotEmpty(t, s.Blocked)
	assert.EqualValues(t, 2, *s.Free)
	_, text = p.ask(t, "GET", "/api/steps/api/limit", "")
	s = decode[operate.Step](t, text)
	assert.Equal(t, 1, s.BlockedKeys)
	assert.Equal(t, 1, s.Keys)
	assert.JSONEq(t, `{"algorithm": "token-bucket", "rate": "2/1h0m0s"}`, string(s.Settings))
	p.do(t, "api/limit/unblock", `{"reason": "mended", "key": ["bad"]}`)
	for _, want := range []int{200, 200, 429} {
		status, _ = call("bad")
		assert.Equal(t, want, status)
	}
	p.do(t, "api/limit/forgive", `{"reason": "mended", "key": ["bad"]}`)
	status, _ = call("bad")
	assert.Equal(t, 200, status)
	p.do(t, "api/limit/drain", `{"reason": "the vendor asked", "key": ["good"]}`)
	status, _ = call("good")
	assert.Equal(t, 429, status)
	p.do(t, "api/limit/forget", `{"reason": "gone", "key": ["good"]}`)
	p.do(t, "api/limit/configure", `{"reason": "more today", "settings": {"rate": "5/1h"}}`)
	var line map[string]any
	for range 6 {
		line = p.journal.await(t, "changed by hand")
	}
	assert.Equal(t, `{"rate":"5/1h"}`, line["settings"])
}

func TestOperateRefusals(t *testing.T) {
	p := runOperated(t)
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/api/x", "", 404, "there is no route /api/x"},
		{"GET", "/api/events?n=0", "", 400, `n: found \"0\"`},
		{"GET", "/api/steps/apo/breaker", "", 404, `apo`},
		{"GET", "/api/steps/api/brake", "", 404, "no such step; it has breaker, limit"},
		{"GET", "/api/steps/api/limit?key=a&key=b", "", 400, "one value for each attribute of per"},
		{"POST", "/api/steps/api/breaker/open", `{}`, 400, "reason: allowed"},
		{"POST", "/api/steps/api/breaker/open", `{"reason": "a\nb"}`, 400, "reason: allowed"},
		{"POST", "/api/steps/api/breaker/open", `{"reason": "x"} {}`, 400, "one object"},
		{"POST", "/api/steps/api/breaker/open", `{"reason": "x", "fro": "1s"}`, 400, "fro"},
		{"POST", "/api/steps/api/breaker/open", `{"reason": "x", "for": 5}`, 400, "the body: for: found number; allowed: a text"},
		{"POST", "/api/steps/api/breaker/open", `{"reason": "x", "key": "a"}`, 400, "the body: key: found string; allowed: a list of texts"},
		{"POST", "/api/steps/api/breaker/open", `[1]`, 400, "the body: all of it: found array; allowed: an object"},
		{"POST", "/api/steps/api/breaker/open", `{"reason": "x", "for": "-1s"}`, 400, "for: found"},
		{"POST", "/api/steps/api/breaker/open", `{"reason": "` + strings.Repeat("x", 1<<17) + `"}`, 400, "too large"},
		{"POST", "/api/steps/api/breaker/explode", `{"reason": "x"}`, 400, "there is open, close, transition"},
		{"POST", "/api/steps/api/breaker/transition", `{"reason": "x", "mode": "ajar"}`, 400, "allowed: forced-open, open"},
		{"POST", "/api/steps/api/breaker/drain", `{"reason": "x"}`, 400, "cannot do it: the mechanism is breaker"},
		{"POST", "/api/steps/api/limit/drain", `{"reason": "x"}`, 400, "needs a key"},
		{"POST", "/api/steps/api/limit/block", `{"reason": "x", "key": ["a"]}`, 400, "a block needs how long"},
		{"POST", "/api/steps/api/limit/unblock", `{"reason": "x", "key": ["a"]}`, 404, "does not know the key"},
		{"POST", "/api/steps/api/limit/forget", `{"reason": "x", "key": ["a"]}`, 404, "does not know the key"},
		{"POST", "/api/steps/api/limit/configure", `{"reason": "x"}`, 400, "settings: found nothing"},
		{"POST", "/api/steps/api/limit/configure", `{"reason": "x", "settings": {"per": "ip"}}`, 400, "only the policy document"},
		{"POST", "/api/steps/api/limit/configure", `{"reason": "x", "settings": {"rate": "5"}}`, 400, "limit.rate"},
	} {
		status, text := p.ask(t, c.method, c.path, c.body)
		assert.Equal(t, c.status, status, "%s %s %.50s: %s", c.method, c.path, c.body, text)
		assert.Contains(t, text, c.want, c.path)
	}
	assert.Equal(t, "ops", p.journal.await(t, "a change by hand is refused")["by"])
	status, text := p.ask(t, "POST", "/api/steps/api/breaker/open", `{"reason": "x"}`, "Sluice-Author", strings.Repeat("x", 501))
	assert.Equal(t, 400, status)
	assert.Contains(t, text, "Sluice-Author")
}

// TestTokens opens the routes with each token of the file alone, and reads them again.
func TestTokens(t *testing.T) {
	p := runOperated(t)
	for _, header := range []string{"", "Bearer", "Bearer ", "Bearer wrong", "Basic " + opsToken, "Bearer " + opsToken + "x", opsToken} {
		for _, path := range []string{"/api/steps", "/api/unknown", "/api/events/stream"} {
			status, text := p.ask(t, "GET", path, "", "Authorization", header)
			assert.Equal(t, 401, status, "%q %s", header, path)
			assert.NotContains(t, text, "breaker")
		}
		status, _ := p.ask(t, "POST", "/api/steps/api/breaker/open", `{"reason": "x"}`, "Authorization", header)
		assert.Equal(t, 401, status, header)
	}
	assert.Contains(t, p.journal.await(t, "no valid token")["peer"], "127.0.0.1:")
	status, _ := p.ask(t, "GET", "/api/steps", "", "Authorization", "bearer  "+pageToken)
	assert.Equal(t, 200, status)
	resp, _ := get(t, p.url+"/api/x")
	assert.Equal(t, 200, resp.StatusCode, "the breaker is closed")

	file := p.config.AdminTokens
	require.NoError(t, os.WriteFile(file, []byte("short"), 0o600))
	p.reload <- syscall.SIGHUP
	line := p.journal.await(t, "the admin tokens cannot be used; the old ones stay")
	assert.Contains(t, line["error"], "line 1 has a token of 5 bytes; allowed: 16 or more")
	assert.NotContains(t, fmt.Sprint(line), "short")
	status, _ = p.ask(t, "GET", "/api/steps", "")
	assert.Equal(t, 200, status)
	require.NoError(t, os.WriteFile(file, []byte("next 0123456789abcdef-next"), 0o600))
	p.reload <- syscall.SIGHUP
	p.journal.await(t, "the admin tokens were read")
	status, _ = p.ask(t, "GET", "/api/steps", "")
	assert.Equal(t, 401, status)
}

func TestParseTokens(t *testing.T) {
	for src, want := range map[string]string{
		"":                            "there is none",
		"# nothing\n\n":               "there is none",
		"a b 0123456789abcdef":        "line 1 has 3 words",
		"ops 0123456789abcdef\nx abc": "line 2 has a token of 3 bytes",
	} {
		_, err := parseTokens([]byte(src))
		assert.ErrorContains(t, err, want)
	}
	list, err := newTokens("", opsToken, nil)
	require.NoError(t, err)
	name, ok := list.who(&http.Request{Header: http.Header{"Authorization": {"Bearer " + opsToken}}})
	assert.True(t, ok)
	assert.Equal(t, "admin", name)
	list, err = newTokens("", "", nil)
	require.NoError(t, err)
	assert.Nil(t, list)
	_, err = New(Config{File: "p", Source: []byte(operated), AdminToken: "x"})
	require.ErrorContains(t, err, "the admin token: line 1 has a token of 1 bytes")
	_, err = New(Config{File: "p", Source: []byte(operated), AdminTokens: filepath.Join(t.TempDir(), "none")})
	require.ErrorContains(t, err, "no such file")
}

// TestWithoutToken has neither routes nor page.
func TestWithoutToken(t *testing.T) {
	p := run(t, operated, http.NotFoundHandler())
	for _, path := range []string{"/api/steps", "/api/", "/ui"} {
		resp, _ := get(t, p.admin+path)
		assert.Equal(t, 404, resp.StatusCode, path)
	}
}

func TestPage(t *testing.T) {
	p := runOperated(t)
	resp, body := get(t, p.admin+"/ui")
	assert.Equal(t, 200, resp.StatusCode)
	assert.Equal(t, livePage, body)
	for _, of := range []string{"script", "style"} {
		assert.Equal(t, 1, strings.Count(livePage, "<"+of), "one that the policy of the page allows")
		assert.Contains(t, resp.Header.Get("Content-Security-Policy"), of+"-src 'sha256-")
	}
	for _, forbidden := range []string{"http:", "https:", "//cdn", "onclick", "innerHTML", "style=\""} {
		assert.NotContains(t, livePage, forbidden)
	}
	_, body = get(t, p.admin+"/")
	assert.Contains(t, body, "/api/ /ui")
}

// TestEventStream gets the events that are kept, and those to come as they happen.
func TestEventStream(t *testing.T) {
	p := runOperated(t)
	p.do(t, "api/limit/reset", `{"reason": "before"}`)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	open := func(query string, header ...string) *bufio.Scanner {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.admin+"/api/events/stream"+query, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+opsToken)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		t.Cleanup(func() { resp.Body.Close() })
		assert.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
		return bufio.NewScanner(resp.Body)
	}
	next := func(s *bufio.Scanner) (e operate.Event) {
		for s.Scan() {
			if text, ok := strings.CutPrefix(s.Text(), "data: "); ok {
				return decode[operate.Event](t, text)
			}
		}
		t.Fatal("the stream ended")
		return e
	}
	quiet, detailed := open(""), open("?requests=true")
	assert.Equal(t, "before", next(quiet).Why)
	assert.Equal(t, "before", next(detailed).Why)
	get(t, p.url+"/api/x")
	p.do(t, "api/breaker/open", `{"reason": "after"}`)
	e := next(quiet)
	assert.Equal(t, "change forced-open", e.Kind+" "+e.Mode)
	assert.Equal(t, "admit", next(detailed).Kind)
	assert.Equal(t, "end ok", func() string { e := next(detailed); return e.Kind + " " + e.Outcome }())
	assert.Equal(t, "change", next(detailed).Kind)
	back := open("", "Last-Event-ID", p.operator.id(1))
	require.True(t, back.Scan())
	assert.Equal(t, "id: "+p.operator.id(2), back.Text())
	e = next(back)
	assert.Equal(t, "2 change 0", fmt.Sprint(e.N, " ", e.Kind, " ", e.Lost))
}

// operatorOf returns an operator of a set without a server.
func operatorOf(t *testing.T) *operator {
	t.Helper()
	set, err := sluice.Parse("policy.yaml", []byte(operated))
	require.NoError(t, err)
	return newOperator(set, nil, nil)
}

// TestTail bounds what is kept and tells a slow reader how much it lost, of requests too.
func TestTail(t *testing.T) {
	o := operatorOf(t)
	quiet := o.follow("", false)
	defer quiet.stop()
	next := func(tail *tail) (out operate.Event) {
		for x := range tail.stream.Events(t.Context()) {
			out = tail.event(&x)
			break
		}
		return out
	}
	const events = keptEvents + 10
	for i := range events {
		o.recent.Observe(sluice.Event{Kind: decision.Manual, Step: fmt.Sprint(i)})
	}
	kept := o.last(1 << 20)
	require.Len(t, kept, keptEvents)
	assert.Equal(t, "10", kept[0].Step)
	assert.Equal(t, "509", kept[keptEvents-1].Step)
	assert.Len(t, o.last(3), 3)
	for i := range streamEvents {
		e := next(quiet)
		assert.Equal(t, fmt.Sprint(i), e.Step)
		assert.Zero(t, e.Lost)
	}
	o.recent.Observe(sluice.Event{Kind: decision.Full})
	assert.EqualValues(t, events-streamEvents, next(quiet).Lost)

	detailed := o.follow("", true)
	for range keptEvents {
		assert.Zero(t, next(detailed).Lost)
	}
	call := func() {
		_, err := sluice.Do(t.Context(), o.set.Pipeline("keys"), func(context.Context) (int, error) { return 0, nil })
		require.NoError(t, err)
	}
	for range (keptEvents + streamEvents) / 2 { // the room of the stream, two events a call
		call()
	}
	call()
	for i := range keptEvents + streamEvents {
		e := next(detailed)
		assert.EqualValues(t, i+1, e.N)
		assert.Zero(t, e.Lost)
	}
	require.NoError(t, o.set.Pipeline("api").Step("breaker").By("ops", "x").Reset())
	assert.Equal(t, "manual", next(detailed).Kind)
	call()
	assert.EqualValues(t, 2, next(detailed).Lost)
	assert.Equal(t, "manual", o.last(1)[0].Kind, "events of requests are not kept")
	detailed.stop()
	calls := detailed.stream.Dropped()
	for range keptEvents + streamEvents {
		call()
	}
	assert.Equal(t, calls, detailed.stream.Dropped(), "a tail that is stopped gets nothing")
}

// TestEventsOfADocument are kept: what a new document changed of the policies.
func TestEventsOfADocument(t *testing.T) {
	o := operatorOf(t)
	assert.Empty(t, o.last(10), "the first document is no change")
	require.NoError(t, o.set.Reload("policy.yaml", []byte(operated)))
	assert.Empty(t, o.last(10))
	require.NoError(t, o.set.Reload("policy.yaml", []byte("version: 1\npolicies: {api: {steps: [limit: 1/1h]}, new: {pass: true}}")))
	var got []string
	for _, e := range o.last(10) {
		got = append(got, e.Kind+" "+e.Policy)
	}
	assert.Equal(t, []string{"replaced api", "added new", "removed keys"}, got)
}

// TestLastEventID continues after the event that a reader has, of this process alone.
func TestLastEventID(t *testing.T) {
	o := operatorOf(t)
	assert.Zero(t, o.after(""))
	for range keptEvents + 10 {
		o.recent.Observe(sluice.Event{Kind: decision.Full})
	}
	for id, want := range map[string]uint64{
		"": 10, o.id(400): 400, o.id(510): 510, o.id(3): 3, o.id(511): 10, "other-400": 10, "400": 10, o.process + "-": 10, o.process + "--1": 10,
	} {
		assert.Equal(t, want, o.after(id), id)
	}
	s := o.follow(o.id(3), false)
	defer s.stop()
	for x := range s.stream.Events(t.Context()) {
		e := s.event(&x)
		assert.EqualValues(t, 11, e.N)
		assert.EqualValues(t, 7, e.Lost, "events that are no longer kept")
		break
	}
}

func TestReaders(t *testing.T) {
	p := runOperated(t)
	p.operator.readers.Store(mostStreams)
	status, text := p.ask(t, "GET", "/api/events/stream", "")
	assert.Equal(t, 503, status)
	assert.Contains(t, text, "32 readers already")
	assert.EqualValues(t, mostStreams, p.operator.readers.Load())
}

// TestKeyBreakers bounds the breakers of keys, and makes room for those that lost their
// state.
func TestKeyBreakers(t *testing.T) {
	o := operatorOf(t)
	change := func(key string, mode breaker.Mode) {
		o.keys.observe(sluice.Event{Kind: decision.Change, Policy: "keys", Step: "breaker", Key: key, Mode: mode})
	}
	change("", breaker.Open)
	assert.Empty(t, o.keys.all(), "a breaker that all calls share has the time in its state")
	for i := range mostBreakers + 10 {
		change(fmt.Sprint(i), breaker.Open)
	}
	assert.Len(t, o.keys.all(), mostBreakers)
	change("0", breaker.Closed)
	all := o.keys.all()
	assert.Len(t, all, mostBreakers-1)
	one := keyBreaker{"keys", "breaker", "1"}
	o.keys.forget(one, all[one].Add(-time.Second))
	assert.Len(t, o.keys.all(), mostBreakers-1, "it changed again")
	assert.Len(t, o.breakers(), 1, "the keys have no state; api.breaker is shared")
	assert.Empty(t, o.keys.all())
}

func TestCompareBreakers(t *testing.T) {
	early, late := time.Unix(1, 0), time.Unix(2, 0)
	order := []operate.Breaker{
		{Mode: "forced-open", Policy: "z"}, {Mode: "open", Since: &late}, {Mode: "open", Since: &early}, {Mode: "open", Policy: "a"},
		{Mode: "open", Policy: "b"},
		{Mode: "half-open"}, {Mode: "closed", Since: &early}, {Mode: "closed"},
	}
	for i := range order {
		for j := range order {
			assert.Equal(t, i < j, compareBreakers(order[i], order[j]) < 0, "%d %d", i, j)
		}
	}
}

// TestNoSecretInLogs looks for tokens in all that is logged and answered.
func TestNoSecretInLogs(t *testing.T) {
	p := runOperated(t)
	p.do(t, "api/breaker/reset", `{"reason": "x"}`)
	p.ask(t, "GET", "/api/steps", "", "Authorization", "Bearer "+opsToken+"x")
	p.journal.await(t, "no valid token")
	p.journal.mu.Lock()
	defer p.journal.mu.Unlock()
	var all bytes.Buffer
	for _, line := range p.journal.lines {
		fmt.Fprintln(&all, line)
	}
	assert.NotContains(t, all.String(), opsToken)
}

// TestOperatedAddress: an operator names an address, and its network, which is the key of
// per: ip, is blocked.
func TestOperatedAddress(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(file, []byte("ops "+opsToken+"\n"), 0o600))
	document := `version: 1
policies: {api: {steps: [limit: {rate: 100/1s, per: [ip, "header:x-user"]}]}}
http: {default: api}
`
	p := run(t, document, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), func(c *Config) { c.AdminTokens = file })
	for address, want := range map[string]string{"[2001:DB8:1:2::5]:443": "2001:db8:1:2::/64", "192.0.2.7": "192.0.2.7",
		"2001:db8:9::/48": "2001:db8:9::/48"} {
		code, text := p.ask(t, "POST", "/api/steps/api/limit/block", `{"key": ["`+address+`", "ada"], "for": "1h", "reason": "scraping"}`)
		require.Equal(t, 204, code, text)
		_, err := sluice.DoWith(t.Context(), p.set.Pipeline("api"),
			sluice.Request{Lookup: func(name string) string { return map[string]string{"ip": want, "header:x-user": "ada"}[name] }},
			func(context.Context) (int, error) { return 0, nil })
		require.ErrorContains(t, err, "blocked", address)
	}
}
