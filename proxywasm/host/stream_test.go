package host_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/proxywasm/host"
)

func TestStreamPasses(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{}, `
request_headers: header 0 :path; replace 0 x-tenant c; add 0 x-new 1; remove 0 :scheme; header 2 :status
request_body: body 0 1 3; setbody 0 0 0 <; setbody 0 100 0 >; setbody 0 1 1 x; bodysize 0
request_trailers: header 1 checksum; header 0 :path
response_headers: header 2 :status; header 0 :path; property request|path; property response|code
response_body: setbody 1 0 99 new
response_trailers: add 3 more 1
log: header 0 :path; header 2 :status; header 1 checksum; header 3 more
done: header 0 :path
delete: say 2 deleted`)
	s := f.Worker(0).Stream(host.StreamOptions{})
	s.RequestHeaders(host.Get("/path", "x-tenant", "a", "X-Tenant", "b"), host.More)
	assert.Equal(t, "header 0 :path = 0 /path / replace 0 x-tenant c = 0  / add 0 x-new 1 = 0  / remove 0 :scheme = 0  / header 2 :status = 2 ", said(p))
	assert.Equal(t, host.Headers{
		{":authority", "example.com"}, {":path", "/path"}, {":method", "GET"}, {"x-tenant", "c"}, {"x-new", "1"},
	}, s.Upstream().Headers)
	s.RequestBody([]byte("body"), host.More)
	assert.Equal(t, "request_body 4 0 / body 0 1 3 = 0 ody / setbody 0 0 0 < = 0  / setbody 0 100 0 > = 0  / setbody 0 1 1 x = 2  / bodysize 0 = 0 6", said(p))
	s.RequestTrailers(host.Headers{{"checksum", "1"}})
	assert.Equal(t, "header 1 checksum = 0 1 / header 0 :path = 2 ", said(p), "headers that went on cannot be read")
	assert.Equal(t, "<body>", string(s.Upstream().Body))
	assert.Equal(t, host.Headers{{"checksum", "1"}}, s.Upstream().Trailers)
	assert.True(t, s.Upstream().Complete)

	s.ResponseHeaders(host.Answer(200), host.More)
	assert.Equal(t, "header 2 :status = 0 200 / header 0 :path = 2  / property request|path = 1  / property response|code = 0 \xc8\x00\x00\x00\x00\x00\x00\x00", said(p))
	s.ResponseBody([]byte("old"), host.More)
	assert.Equal(t, "response_body 3 0 / setbody 1 0 99 new = 0 ", said(p))
	assert.False(t, s.Ended())
	s.ResponseTrailers(host.Headers{{"grpc-status", "0"}})
	assert.Equal(t, "add 3 more 1 = 0  / "+
		"header 0 :path = 0 /path / header 2 :status = 0 200 / header 1 checksum = 1  / header 3 more = 0 1 / "+
		"header 0 :path = 2  / deleted / say 2 deleted = 0 ", said(p))
	assert.Equal(t, 200, s.Response().Status())
	assert.Equal(t, "new", string(s.Response().Body))
	assert.Equal(t, host.Headers{{"grpc-status", "0"}, {"more", "1"}}, s.Response().Trailers)
	assert.True(t, s.Ended())
	assert.False(t, s.WasReset())
	assert.False(t, s.Local())
	assert.Equal(t, "via_upstream", s.Details())
	s.Reset()
	s.ResponseHeaders(host.Answer(200), host.End)
	assert.Empty(t, said(p), "nothing follows the end")
}

func TestHeaderMaps(t *testing.T) {
	t.Parallel()
	got := run(t, host.Config{}, "header 0 X-TENANT; header 0 none; header 9 x; header 4 x; pairs 0; pairs 2; pairs 9; size 0; size 2; size 9; "+
		"add 2 a b; replace 9 a b; remove 2 a; remove 9 a; setpairs 0 :path /new :method PUT A b; pairs 0; setpairs 2 a b; setpairs 9 a b; badpairs 0 xxxxxxxx; pairs 0; "+
		"add 0 content-type a; add 0 content-type b; pairs 0")
	assert.Equal(t, "header 0 X-TENANT = 0 a / header 0 none = 1  / header 9 x = 2  / header 4 x = 2  / "+
		"pairs 0 = 0 :authority=example.com :path=/path?q=1#f :method=GET :scheme=http x-tenant=a x-tenant=b / pairs 2 = 0  / pairs 9 = 2  / "+
		"size 0 = 0 76 / size 2 = 2  / size 9 = 2  / "+
		"add 2 a b = 2  / replace 9 a b = 2  / remove 2 a = 2  / remove 9 a = 2  / "+
		"setpairs 0 :path /new :method PUT A b = 0  / pairs 0 = 0 :path=/new :method=PUT a=b / setpairs 2 a b = 2  / setpairs 9 a b = 2  / "+
		"badpairs 0 xxxxxxxx = 0  / pairs 0 = 0  / "+
		"add 0 content-type a = 0  / add 0 content-type b = 0  / pairs 0 = 0 content-type=a,b", got)
}

func TestBuffers(t *testing.T) {
	t.Parallel()
	got := run(t, host.Config{}, "body 0 0 9; bodysize 0; body 9 0 9; setbody 9 0 0 x; setbody 0 0 0 x; body 4 0 9; body 5 0 9; body 6 0 9; body 7 0 9; setbody 6 0 0 x; bodysize 9")
	assert.Equal(t, "body 0 0 9 = 0  / bodysize 0 = 0 0 / body 9 0 9 = 2  / setbody 9 0 0 x = 2  / setbody 0 0 0 x = 2  / "+
		"body 4 0 9 = 1  / body 5 0 9 = 0  / body 6 0 9 = 0  / body 7 0 9 = 1  / setbody 6 0 0 x = 2  / bodysize 9 = 2 ", got)
}

// PAUSE of request headers holds the body too; a tick lets it go on through the
// body callback in one piece.
func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{}, `
configure: period 10
request_headers: pause
request_body: body 0 0 99
request_trailers: header 1 a
response_headers: pause
tick: header 0 :path; effective 99; effective stream; header 0 :path; resume 0; header 0 :path; resume 1; resume 3; resume 4`)
	s := f.Worker(0).Stream(host.StreamOptions{})
	s.RequestHeaders(host.Get("/"), host.More)
	assert.True(t, s.Paused())
	s.RequestBody([]byte("a"), host.More)
	s.RequestBody([]byte("b"), host.More)
	s.RequestTrailers(host.Headers{{"a", "b"}})
	assert.Nil(t, s.Upstream())
	assert.Empty(t, said(p))
	require.True(t, f.Worker(0).Tick())
	assert.Equal(t, "header 0 :path = 2  / effective 99 = 2  / effective stream = 0  / header 0 :path = 0 / / resume 0 = 0  / header 0 :path = 2  / "+
		"resume 1 = 0  / resume 3 = 12  / resume 4 = 2  / request_body 2 0 / body 0 0 99 = 0 ab / header 1 a = 0 b", said(p))
	assert.False(t, s.Paused())
	assert.Equal(t, "ab", string(s.Upstream().Body))
	assert.Equal(t, host.Headers{{"a", "b"}}, s.Upstream().Trailers)

	s.ResponseHeaders(host.Answer(200), host.End)
	assert.Nil(t, s.Response())
	assert.True(t, s.Paused())
	f.Worker(0).Tick()
	assert.Equal(t, 200, s.Response().Status())
	assert.True(t, s.Ended())
}

// A body that the filter holds grows until it lets it go.
func TestBodyIsBuffered(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{}, `
request_body: body 0 0 99; return 1
request_trailers: return 0
response_body: body 1 0 99; return 2`)
	s := f.Worker(0).Stream(host.StreamOptions{})
	s.RequestHeaders(host.Get("/"), host.More)
	require.NotNil(t, s.Upstream(), "the headers went on")
	s.RequestBody([]byte("a"), host.More)
	s.RequestBody([]byte("b"), host.More)
	assert.Equal(t, "request_body 1 0 / body 0 0 99 = 0 a / request_body 2 0 / body 0 0 99 = 0 ab", said(p), "the whole body so far")
	assert.Empty(t, s.Upstream().Body)
	s.RequestTrailers(host.Headers{{"a", "b"}})
	assert.Equal(t, "ab", string(s.Upstream().Body))
	assert.True(t, s.Upstream().Complete)

	s.ResponseHeaders(host.Answer(200), host.More)
	s.ResponseBody([]byte("c"), host.More)
	s.ResponseBody([]byte("d"), host.End)
	assert.Equal(t, "response_body 1 0 / body 1 0 99 = 0 c / response_body 1 1 / body 1 0 99 = 0 d", said(p), "each part alone")
	assert.Empty(t, s.Response().Body)
	s.Reset()
	assert.True(t, s.WasReset())
}

// PAUSE stops the headers alone where the configuration says so.
func TestAllowOnHeadersStopIteration(t *testing.T) {
	t.Parallel()
	p := newProcess(t, host.Config{})
	config := plugin("request_headers: pause\nrequest_body: header 0 :path")
	config.AllowOnHeadersStopIteration = true
	f := load(t, p, config)
	s := f.Worker(0).Stream(host.StreamOptions{})
	s.RequestHeaders(host.Get("/"), host.More)
	assert.Nil(t, s.Upstream())
	s.RequestBody([]byte("a"), host.End)
	assert.Equal(t, "request_body 1 1 / header 0 :path = 0 /", said(p))
	require.NotNil(t, s.Upstream())
	assert.Equal(t, "a", string(s.Upstream().Body))
}

// Trailers can be added with the last part of a body.
func TestTrailersAreAdded(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{}, "request_body: add 1 a b\nresponse_body: add 3 c d")
	s := f.Worker(0).Stream(host.StreamOptions{})
	s.RequestHeaders(host.Get("/"), host.More)
	s.RequestBody([]byte("a"), host.More)
	s.RequestBody([]byte("b"), host.End)
	assert.Equal(t, "request_body 1 0 / add 1 a b = 2  / request_body 1 1 / add 1 a b = 0 ", said(p))
	assert.Equal(t, host.Headers{{"a", "b"}}, s.Upstream().Trailers)
	s.ResponseHeaders(host.Answer(200), host.More)
	s.ResponseBody(nil, host.End)
	assert.Equal(t, host.Headers{{"c", "d"}}, s.Response().Trailers)
}

// A local response goes through the response callbacks, after the callback that
// asked for it, whose result has no meaning.
func TestLocalResponse(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{}, `
request_headers: local 429 slow rate~limited -1 retry-after 2 set-cookie a set-cookie b; header 0 :path; return 0
response_headers: header 2 :status; header 2 retry-after; header 0 :path; property request|path; add 2 x-late 1
response_body: body 1 0 99
log: hexproperty response|code; property response|code_details; hexproperty response|flags`)
	s := f.Worker(0).Do(host.Get("/path"), host.Answer(200))
	assert.Equal(t, "local 429 slow rate~limited -1 retry-after 2 set-cookie a set-cookie b = 0  / header 0 :path = 0 /path / "+
		"header 2 :status = 0 429 / header 2 retry-after = 0 2 / header 0 :path = 0 /path / property request|path = 0 /path / add 2 x-late 1 = 0  / "+
		"response_body 4 1 / body 1 0 99 = 0 slow / "+
		"hexproperty response|code = 0 ad01000000000000 / property response|code_details = 0 rate_limited / hexproperty response|flags = 0 0000000000000000", said(p))
	assert.Nil(t, s.Upstream())
	assert.True(t, s.Local())
	assert.True(t, s.Ended())
	assert.Equal(t, "rate_limited", s.Details())
	assert.Equal(t, &host.Message{
		Headers: host.Headers{
			{":status", "429"}, {"retry-after", "2"}, {"set-cookie", "a"}, {"set-cookie", "b"}, {"content-length", "4"}, {"content-type", "text/plain"}, {"x-late", "1"},
		},
		Body: []byte("slow"), Complete: true,
	}, s.Response())
}

func TestLocalResponseForms(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		local   string
		request host.Headers
		want    host.Headers
		body    string
	}{
		"HEAD":        {"local 429 slow _ -1", host.Headers{{":method", "HEAD"}}, host.Headers{{":status", "429"}, {"content-length", "4"}, {"content-type", "text/plain"}}, ""},
		"own type":    {"local 429 {} _ -1 content-type application/json", host.Get("/"), host.Headers{{":status", "429"}, {"content-type", "application/json"}, {"content-length", "2"}}, "{}"},
		"no body":     {"local 503 _ _ -1 content-type text/html", host.Get("/"), host.Headers{{":status", "503"}}, ""},
		"gRPC":        {"local 429 50%~é _ 8 retry-after 1", host.GRPC("/p.S/M"), host.Headers{{":status", "200"}, {"retry-after", "1"}, {"content-type", "application/grpc"}, {"grpc-status", "8"}, {"grpc-message", "50%25%7E%C3%A9"}}, ""},
		"gRPC status": {"local 429 _ _ -1", host.GRPC("/p.S/M"), host.Headers{{":status", "200"}, {"content-type", "application/grpc"}, {"grpc-status", "14"}}, ""},
		"gRPC header": {"local 403 _ _ -1 grpc-status 16", host.GRPC("/p.S/M"), host.Headers{{":status", "200"}, {"grpc-status", "16"}, {"content-type", "application/grpc"}}, ""},
		"gRPC-Web":    {"local 403 x _ -1", host.Get("/", "content-type", "application/grpc-web"), host.Headers{{":status", "403"}, {"content-length", "1"}, {"content-type", "text/plain"}}, "x"},
		"protobuf":    {"local 403 _ _ -1", host.Get("/", "content-type", "application/grpc+proto"), host.Headers{{":status", "200"}, {"content-type", "application/grpc"}, {"grpc-status", "7"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, f := start(t, host.Config{}, "request_headers: "+test.local)
			s := f.Worker(0).Do(test.request, host.Answer(200))
			require.NotNil(t, s.Response())
			assert.Equal(t, test.want, s.Response().Headers)
			assert.Equal(t, test.body, string(s.Response().Body))
		})
	}
}

// The gRPC status that stands for an HTTP status.
func TestGRPCStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]string{"400": "13", "401": "16", "403": "7", "404": "12", "502": "14", "503": "14", "504": "14", "500": "2"} {
		_, f := start(t, host.Config{}, "request_headers: local "+status+" _ _ -1")
		assert.Equal(t, want, f.Worker(0).Do(host.GRPC("/p.S/M"), host.Answer(200)).Response().Headers.Value("Grpc-Status"), status)
	}
}

// A local response from a tick, in the response and too late.
func TestLocalResponseLater(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{}, "configure: period 5\nrequest_headers: pause\ntick: effective stream; local 503 full _ -1\nresponse_headers: header 2 :status")
	s := f.Worker(0).Stream(host.StreamOptions{})
	s.RequestHeaders(host.Get("/"), host.End)
	f.Worker(0).Tick()
	assert.Equal(t, "effective stream = 0  / local 503 full _ -1 = 0  / header 2 :status = 0 503", said(p))
	assert.Equal(t, 503, s.Response().Status())
	assert.True(t, s.Ended())
	f.Worker(0).Tick()
	assert.Equal(t, "effective stream = 2  / local 503 full _ -1 = 0 ", said(p), "the stream is gone")

	p, f = start(t, host.Config{}, "response_headers: local 500 bad _ -1\nresponse_body: say 2 body")
	s = f.Worker(0).Do(host.Get("/"), host.Answer(200))
	assert.Equal(t, "local 500 bad _ -1 = 0 ", said(p), "it goes past the callbacks")
	assert.Equal(t, 500, s.Response().Status())
	assert.Equal(t, "bad", string(s.Response().Body))

	_, f = start(t, host.Config{}, "response_body: local 500 bad _ -1")
	s = f.Worker(0).Stream(host.StreamOptions{})
	s.RequestHeaders(host.Get("/"), host.End)
	s.ResponseHeaders(host.Answer(200), host.More)
	s.ResponseBody([]byte("a"), host.End)
	assert.True(t, s.WasReset(), "the client has the headers already")
	assert.Equal(t, 200, s.Response().Status())
	assert.False(t, s.Response().Complete)
}

// A local response while the client still sends its body ends the stream.
func TestLocalResponseEndsRequest(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{}, "request_body: local 413 _ _ -1")
	s := f.Worker(0).Stream(host.StreamOptions{})
	s.RequestHeaders(host.Get("/"), host.More)
	s.RequestBody([]byte("a"), host.More)
	assert.True(t, s.Ended())
	said(p)
	s.RequestBody([]byte("b"), host.More)
	s.RequestTrailers(nil)
	assert.Empty(t, said(p))
	assert.Equal(t, 413, s.Response().Status())
}

func TestEnds(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{}, "request_headers: pause\nlog: hexproperty response|flags; property response|code_details; hexproperty response|code\ndone: say 2 done\ndelete: say 2 deleted")
	s := f.Worker(0).Stream(host.StreamOptions{})
	s.Reset()
	s.RequestHeaders(host.Get("/"), host.End)
	s.Reset()
	const end = " / say 2 done = 0  / deleted / say 2 deleted = 0 "
	assert.Equal(t, "hexproperty response|flags = 0 0040000000000000 / property response|code_details = 0 downstream_remote_disconnect / hexproperty response|code = 1  / done"+end, said(p))
	assert.True(t, s.WasReset())
	assert.Nil(t, s.Response())
	assert.Zero(t, s.Response().Status())

	p, f = start(t, host.Config{}, "request_headers: say 2 x\nresponse_headers: header 2 :status; header 2 content-length\nlog: hexproperty response|flags")
	s = f.Worker(0).Stream(host.StreamOptions{})
	s.RequestHeaders(host.Get("/"), host.End)
	said(p)
	s.ResetUpstream()
	assert.Equal(t, "header 2 :status = 0 503 / header 2 content-length = 0 95 / hexproperty response|flags = 0 4000000000000000", said(p))
	assert.Equal(t, 503, s.Response().Status())
	s.ResetUpstream()
	s = f.Worker(0).Stream(host.StreamOptions{})
	s.RequestHeaders(host.Get("/"), host.End)
	s.ResponseHeaders(host.Answer(200), host.More)
	s.ResetUpstream()
	assert.True(t, s.WasReset())
	s.Close()

	p, f = start(t, host.Config{}, "request_headers: close 9; close 0")
	s = f.Worker(0).Do(host.Get("/"), host.Answer(200))
	assert.Equal(t, "close 9 = 2  / close 0 = 0 ", said(p))
	assert.True(t, s.WasReset())
	assert.Equal(t, "wasm_close_stream", s.Details())
	assert.Nil(t, s.Upstream())
}

func TestStreamMistakes(t *testing.T) {
	t.Parallel()
	_, f := start(t, host.Config{}, "")
	s := f.Worker(0).Stream(host.StreamOptions{})
	assert.PanicsWithError(t, "host: a response of the upstream, which has no request", func() { s.ResponseHeaders(host.Answer(200), host.End) })
	assert.PanicsWithError(t, "host: a body or trailers before the headers", func() { s.RequestBody(nil, host.End) })
	s.RequestHeaders(host.Get("/"), host.End)
	assert.PanicsWithError(t, "host: RequestHeaders of a stream that has begun", func() { s.RequestHeaders(host.Get("/"), host.End) })
	assert.PanicsWithError(t, "host: a frame after the end", func() { s.RequestTrailers(nil) })
	odd := []string{"name"}
	assert.PanicsWithError(t, "host: the header name has no value", func() { host.Get("/", odd...) })
	f.Drain()
	assert.PanicsWithError(t, "host: a new stream of a filter that is drained", func() { f.Worker(0).Do(host.Get("/"), host.Answer(200)) })
}

func TestProperties(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{}, "request_headers: "+
		"property request|path; property request|url_path; property request|query; property request|host; property request|method; property request|scheme; "+
		"property request|headers|x-tenant; property request|headers|none; property request|none; property none; property request|path|x; property _; "+
		"hexproperty request|time; hexproperty request|duration; hexproperty request|size; hexproperty request|headers_bytes; property request|protocol; "+
		"property source|address; hexproperty source|port; property destination|address; hexproperty connection|id; hexproperty connection_id; hexproperty connection|mtls; "+
		"property plugin_name; property plugin_root_id; property plugin_vm_id; "+
		"property xds|route_name; property xds|virtual_host_name; property xds|cluster_name; property xds|route_metadata|filter_metadata|sluice|policy; "+
		"hexproperty xds|route_metadata|filter_metadata|sluice|cost; hexproperty xds|route_metadata|filter_metadata|sluice|list|1; property xds|route_metadata|filter_metadata|sluice|list|2; "+
		"hexproperty metadata|filter_metadata|jwt; property mine; setproperty mine here; property mine; property filter_state|wasm.mine; property response|code")
	want := "property request|path = 0 /path?q=1#f / property request|url_path = 0 /path / property request|query = 0 q=1 / property request|host = 0 example.com / property request|method = 0 GET / property request|scheme = 0 http / " +
		"property request|headers|x-tenant = 0 a,b / property request|headers|none = 1  / property request|none = 1  / property none = 1  / property request|path|x = 1  / property _ = 3  / " +
		"hexproperty request|time = 0 0000faed51728618 / hexproperty request|duration = 1  / hexproperty request|size = 0 0000000000000000 / hexproperty request|headers_bytes = 0 4c00000000000000 / property request|protocol = 0 HTTP/2 / " +
		"property source|address = 0 192.0.2.1:4711 / hexproperty source|port = 0 6712000000000000 / property destination|address = 0 127.0.0.1:10000 / hexproperty connection|id = 0 0900000000000000 / hexproperty connection_id = 0 0900000000000000 / hexproperty connection|mtls = 0 00 / " +
		"property plugin_name = 0 test / property plugin_root_id = 0  / property plugin_vm_id = 0  / " +
		"property xds|route_name = 0 api / property xds|virtual_host_name = 0 all / property xds|cluster_name = 0 backend / property xds|route_metadata|filter_metadata|sluice|policy = 0 gold / " +
		"hexproperty xds|route_metadata|filter_metadata|sluice|cost = 0 0000000000000840 / hexproperty xds|route_metadata|filter_metadata|sluice|list|1 = 0 01 / property xds|route_metadata|filter_metadata|sluice|list|2 = 1  / " +
		"hexproperty metadata|filter_metadata|jwt = 0 0100000003000000050000007375620061646d696e00 / property mine = 1  / setproperty mine here = 0  / property mine = 0 here / property filter_state|wasm.mine = 0 here / property response|code = 1 "
	s := f.Worker(0).Stream(host.StreamOptions{
		Source: "192.0.2.1:4711", ConnectionID: 9, Protocol: "HTTP/2",
		Route:      host.Route{Name: "api", VirtualHost: "all", Cluster: "backend", Metadata: map[string]map[string]any{"sluice": {"policy": "gold", "cost": 3, "list": []any{"a", true}}}},
		Properties: map[string]any{"metadata": map[string]any{"filter_metadata": map[string]any{"jwt": map[string]any{"sub": "admin"}}}},
	})
	s.RequestHeaders(host.Get("/path?q=1#f", "x-tenant", "a", "x-tenant", "b"), host.End)
	assert.Equal(t, want, said(p))
}

// Each kind of value has its form.
func TestPropertyForms(t *testing.T) {
	t.Parallel()
	for want, value := range map[string]any{
		"0 ff":                             []byte{255},
		"0 01":                             true,
		"0 0500000000000000":               5,
		"0 feffffffffffffff":               int64(-2),
		"0 0700000000000000":               uint64(7),
		"0 000000000000e03f":               0.5,
		"0 00ca9a3b00000000":               time.Second,
		"0 0900000000000000":               time.Unix(0, 9),
		"0 010000000100000000000000610000": []any{"a"},
		"3 ":                               map[string]any{"a": struct{}{}},
	} {
		p, f := start(t, host.Config{}, "request_headers: hexproperty mine")
		s := f.Worker(0).Stream(host.StreamOptions{Properties: map[string]any{"mine": value}})
		s.RequestHeaders(host.Get("/"), host.End)
		assert.Equal(t, "hexproperty mine = "+want, said(p), "%v", value)
	}
}

func TestResponseProperties(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{}, "response_headers: property response|headers|server; hexproperty response|grpc_status\nlog: property response|trailers|grpc-status; hexproperty response|grpc_status; hexproperty response|size; property request|path; hexproperty request|duration")
	s := f.Worker(0).Stream(host.StreamOptions{})
	s.RequestHeaders(host.Get("/"), host.End)
	p.Advance(time.Second)
	s.ResponseHeaders(host.Answer(200, "server", "x"), host.More)
	s.ResponseBody([]byte("abc"), host.More)
	s.ResponseTrailers(host.Headers{{"grpc-status", "5"}})
	assert.Equal(t, "property response|headers|server = 0 x / hexproperty response|grpc_status = 0 0200000000000000 / "+
		"property response|trailers|grpc-status = 0 5 / hexproperty response|grpc_status = 0 0500000000000000 / hexproperty response|size = 0 0300000000000000 / "+
		"property request|path = 0 / / hexproperty request|duration = 0 00ca9a3b00000000", said(p))
}

// Results out of range stop everything; PAUSE of the trailers holds them.
func TestResults(t *testing.T) {
	t.Parallel()
	for result, paused := range map[string]bool{"0": false, "1": true, "2": false, "3": true, "4": true, "9": true} {
		_, f := start(t, host.Config{}, "request_headers: return "+result)
		s := f.Worker(0).Stream(host.StreamOptions{})
		s.RequestHeaders(host.Get("/"), host.More)
		assert.Equal(t, paused, s.Paused(), result)
		assert.Equal(t, paused, s.Upstream() == nil, result)
	}
	p, f := start(t, host.Config{}, "configure: period 5\nrequest_body: return 9\nrequest_trailers: return 7\ntick: effective stream; resume 0")
	s := f.Worker(0).Stream(host.StreamOptions{})
	s.RequestHeaders(host.Get("/"), host.More)
	s.RequestBody([]byte("lost"), host.More)
	s.RequestTrailers(host.Headers{{"a", "b"}})
	assert.True(t, s.Paused())
	require.True(t, f.Worker(0).Tick())
	assert.Empty(t, s.Upstream().Body, "the body is not kept")
	assert.Equal(t, host.Headers{{"a", "b"}}, s.Upstream().Trailers)

	_, f = start(t, host.Config{}, "configure: period 5\nrequest_body: return 3\ntick: effective stream; resume 0")
	s = f.Worker(0).Stream(host.StreamOptions{})
	s.RequestHeaders(host.Get("/"), host.More)
	s.RequestBody(nil, host.End)
	assert.False(t, s.Upstream().Complete)
	f.Worker(0).Tick()
	assert.True(t, s.Upstream().Complete, "an empty end goes on")
	said(p)
}

// A trap in the trailers, and the first of two local responses.
func TestLateFailures(t *testing.T) {
	t.Parallel()
	_, f := start(t, host.Config{}, "request_trailers: trap")
	s := f.Worker(0).Stream(host.StreamOptions{})
	s.RequestHeaders(host.Get("/"), host.More)
	s.RequestTrailers(host.Headers{{"a", "b"}})
	assert.Equal(t, 503, s.Response().Status())
	assert.Empty(t, s.Upstream().Trailers)
	_, f = start(t, host.Config{}, "request_headers: local 429 a one -1; local 403 b two -1")
	s = f.Worker(0).Do(host.Get("/"), host.Answer(200))
	assert.Equal(t, 429, s.Response().Status())
	assert.Equal(t, "two", s.Details(), "as in Envoy")
	_, f = start(t, host.Config{}, "request_trailers: local 400 _ _ -1")
	s = f.Worker(0).Stream(host.StreamOptions{})
	s.RequestHeaders(host.Get("/"), host.More)
	s.RequestTrailers(nil)
	assert.Equal(t, 400, s.Response().Status())
}

// A root context has no stream, and reads none.
func TestRootHasNoStream(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{}, "configure: period 5\ntick: header 0 :path; add 0 a b; pairs 0; property request|path; setproperty a b; property plugin_name; property plugin_root_id; resume 0; local 200 _ _ -1; close 0; body 0 0 9")
	f.Worker(0).Tick()
	assert.Equal(t, "header 0 :path = 2  / add 0 a b = 2  / pairs 0 = 0  / property request|path = 1  / setproperty a b = 1  / property plugin_name = 0 test / property plugin_root_id = 0  / "+
		"resume 0 = 0  / local 200 _ _ -1 = 0  / close 0 = 0  / body 0 0 9 = 0 ", said(p))
}
