package serve

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"
)

// forwarder sends requests on and answers back, as httputil.ReverseProxy does, which
// takes those with a body and those that ask for an upgrade. For the others, which are
// most, it copies no more than it must.
type forwarder struct {
	server    *Server
	transport http.RoundTripper
	reverse   httputil.ReverseProxy
	learns    bool // the access log wants to know more of each request
	buffers   Buffers
}

func (s *Server) forwarder(transport http.RoundTripper, learns bool) *forwarder {
	f := &forwarder{server: s, transport: transport, learns: learns}
	f.reverse = httputil.ReverseProxy{
		Rewrite: s.rewrite, Transport: transport, BufferPool: &f.buffers, ErrorHandler: s.failed, ErrorLog: s.complaints(),
	}
	f.reverse.ModifyResponse = func(resp *http.Response) error {
		if resp.StatusCode == http.StatusSwitchingProtocols && resp.Request.Header.Get("Upgrade") == "" {
			return errUnasked
		}
		if learns {
			learn(resp.Request.Context(), resp)
		}
		return nil
	}
	return f
}

// ServeHTTP implements http.Handler. The request is its own to change.
func (f *forwarder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, upgrade := r.Header["Upgrade"]; upgrade || r.ContentLength != 0 || r.Body != nil && r.Body != http.NoBody {
		f.reverse.ServeHTTP(w, r)
		return
	}
	f.rewrite(r)
	resp, err := f.transport.RoundTrip(r)
	answered(r.Context())
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols {
		_ = resp.Body.Close() // what the upstream meant by it is not known
		err = errUnasked
	}
	if err != nil {
		f.server.failed(w, r, err)
		return
	}
	defer resp.Body.Close() // however the rest ends
	if f.learns {
		learn(r.Context(), resp)
	}
	f.answer(w, resp)
}

var errUnasked = errors.New("the upstream switched protocols, which the request did not ask for")

// hopByHop reports whether a header field is about one connection (RFC 9110 section
// 7.6.1), also where Connection does not list it.
func hopByHop(name string) bool {
	switch name {
	case "Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

// removeListed removes the header fields that Connection lists.
func removeListed(h http.Header, connection []string) {
	for _, line := range connection {
		for name := range strings.SplitSeq(line, ",") {
			if name = textproto.TrimString(name); name != "" {
				h.Del(name)
			}
		}
	}
}

// rewrite makes the request that goes to the upstream of the one that came in.
func (f *forwarder) rewrite(r *http.Request) {
	in, from := *r, f.server.peer(r)
	out := make(http.Header, len(in.Header)+5)
	for name, lines := range in.Header {
		if !hopByHop(name) && (from.trusted || !tellsOfHops(name)) {
			out[name] = slices.Clip(lines)
		}
	}
	if listed := in.Header["Connection"]; len(listed) > 0 {
		removeListed(out, listed)
		if from.trusted {
			keepHops(in.Header, out)
		}
	}
	if httpguts.HeaderValuesContainsToken(in.Header["Te"], "trailers") {
		out["Te"] = trailers
	}
	if _, ok := out["User-Agent"]; !ok {
		out["User-Agent"] = empty // else net/http sends one of its own
	}
	u := *in.URL
	r.URL, r.Header, r.Body, r.Close = &u, out, nil, false
	f.server.forward(&in, out, from)
	f.server.address(&httputil.ProxyRequest{In: &in, Out: r})
}

// Values of header fields, never changed.
var (
	trailers = []string{"trailers"}
	empty    = []string{""}
)

// answer sends an answer of the upstream back.
func (f *forwarder) answer(w http.ResponseWriter, resp *http.Response) {
	to := w.Header()
	removeListed(resp.Header, resp.Header["Connection"])
	for name, lines := range resp.Header {
		switch {
		case hopByHop(name):
		case len(to[name]) == 0:
			to[name] = lines
		default:
			to[name] = append(to[name], lines...)
		}
	}
	announced := len(resp.Trailer)
	if announced > 0 {
		names := make([]string, 0, announced)
		for name := range resp.Trailer {
			names = append(names, name)
		}
		to.Add("Trailer", strings.Join(names, ", "))
	}
	w.WriteHeader(resp.StatusCode)
	if err := f.copy(w, resp); err != nil {
		// The server closes the connection, so that the client sees that the answer is
		// not complete.
		panic(http.ErrAbortHandler)
	}
	_ = resp.Body.Close() // from here on the trailers are known
	if len(resp.Trailer) > 0 {
		// Chunks make room for trailers also where the answer is short.
		_ = http.NewResponseController(w).Flush()
	}
	for name, lines := range resp.Trailer {
		if len(resp.Trailer) != announced {
			name = http.TrailerPrefix + name
		}
		to[name] = append(to[name], lines...)
	}
}

// copy copies the body of an answer. Where its length is not known it may be a stream,
// of which each part is sent at once.
func (f *forwarder) copy(w http.ResponseWriter, resp *http.Response) error {
	if resp.Body == http.NoBody {
		return nil
	}
	to := io.Writer(w)
	if resp.ContentLength == -1 || isEventStream(resp.Header) {
		stream := newStream(w)
		defer stream.end()
		to = stream
	}
	buffer := f.buffers.Get()
	defer f.buffers.Put(buffer)
	for {
		n, err := resp.Body.Read(buffer)
		if n > 0 {
			if _, failed := to.Write(buffer[:n]); failed != nil {
				return failed
			}
		}
		switch err {
		case nil:
		case io.EOF:
			return nil
		default:
			if err != context.Canceled {
				f.reverse.ErrorLog.Printf("read error during body copy: %v", err)
			}
			return err
		}
	}
}

// stream sends what is written at once. The headers do not wait for the first part.
type stream struct {
	to    io.Writer
	flush func() error
	timer *time.Timer
	mu    sync.Mutex
	begun bool // the headers need no flush of their own
}

func newStream(w http.ResponseWriter) *stream {
	s := &stream{to: w, flush: http.NewResponseController(w).Flush}
	s.timer = time.AfterFunc(0, s.begin)
	return s
}

func (s *stream) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		s.begun = true
		_ = s.flush() // the next write has the error
	}
}

// Write implements io.Writer.
func (s *stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
	n, err := s.to.Write(b)
	_ = s.flush() // the next write has the error
	return n, err
}

func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
	s.timer.Stop()
}

func isEventStream(h http.Header) bool {
	lines := h["Content-Type"]
	if len(lines) == 0 || !strings.HasPrefix(strings.ToLower(strings.TrimSpace(lines[0])), "text/event-stream") {
		return false
	}
	form, _, _ := mime.ParseMediaType(lines[0])
	return form == "text/event-stream"
}
