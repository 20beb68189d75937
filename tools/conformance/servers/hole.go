package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// hole is a proxy and a server behind it that disagree about the end of a request, so
// that what one takes for a body the other takes for the next request. Clients share one
// connection to the server: what one leaves there becomes a part of the next request of
// another. A tool that does not find a hole proves nothing about a proxy without it.
type hole struct {
	front, back framing
	// own gives each client a connection of its own to the server.
	own bool
	// skip has the server look for the beginning of a GET behind what is none.
	skip bool
	// upgrades has the server upgrade to HTTP/2. The proxy passes the wish on and waits
	// for the answer behind the 101, which comes in HTTP/2.
	upgrades bool
}

// holes are named as the checks of smugglex that have to find them. h2 is another name of
// cl-edge: that check sends fields of HTTP/2 in HTTP/1.1, two lengths among them.
var holes = map[string]hole{
	"cl-te":   {front: byLength, back: byChunks},
	"te-cl":   {front: byChunks, back: byLength},
	"te-te":   {front: byChunks, back: byOneCoding},
	"cl-edge": {front: byFirstLength, back: byLength},
	"cl-0":    {front: byLength, back: byNothing, own: true, skip: true},
	"h2c":     {front: byChunks, upgrades: true},
}

// framing says where the body of a request ends, of its head: behind so many bytes, or
// behind the last chunk.
type framing func(head []field) (length int64, chunked bool)

// field is a line of a head, its name in lower case. A line without a colon has no value.
type field struct{ name, value string }

func values(head []field, name string) (all []string) {
	for _, f := range head {
		if f.name == name {
			all = append(all, f.value)
		}
	}
	return all
}

// byLength takes the last Content-Length. What is not a number counts as 0.
func byLength(head []field) (int64, bool) {
	length := int64(0)
	for _, text := range values(head, "content-length") {
		length, _ = strconv.ParseInt(text, 10, 64)
	}
	return max(length, 0), false
}

func byFirstLength(head []field) (int64, bool) {
	all := values(head, "content-length")
	return byLength([]field{{"content-length", append(all, "0")[0]}})
}

// byChunks takes the chunks where one coding is chunked.
func byChunks(head []field) (int64, bool) {
	if slices.Contains(values(head, "transfer-encoding"), "chunked") {
		return 0, true
	}
	return byLength(head)
}

// byOneCoding takes the chunks where that is the only coding.
func byOneCoding(head []field) (int64, bool) {
	if len(values(head, "transfer-encoding")) == 1 {
		return byChunks(head)
	}
	return byLength(head)
}

func byNothing([]field) (int64, bool) { return 0, false }

// readRequest reads a request, whose end a framing says, as it is.
func readRequest(r *bufio.Reader, end framing) (line string, all []byte, err error) {
	var raw bytes.Buffer
	next := func() (string, error) {
		text, err := r.ReadString('\n')
		raw.WriteString(text)
		return strings.TrimRight(text, "\r\n"), err
	}
	for line == "" { // empty lines before a request are none (RFC 9112 section 2.2)
		if line, err = next(); err != nil {
			return "", nil, err
		}
	}
	var head []field
	for {
		text, err := next()
		if err != nil {
			return "", nil, err
		}
		if text == "" {
			break
		}
		name, value, _ := strings.Cut(text, ":")
		head = append(head, field{strings.ToLower(name), strings.TrimSpace(value)})
	}
	length, chunked := end(head)
	for chunked {
		text, err := next()
		if err != nil {
			return "", nil, err
		}
		if length, err = strconv.ParseInt(text, 16, 64); err != nil {
			return "", nil, err
		}
		if _, err := io.CopyN(&raw, r, length); err != nil {
			return "", nil, err
		}
		if _, err := next(); err != nil {
			return "", nil, err
		}
		if length == 0 {
			return line, raw.Bytes(), nil
		}
	}
	_, err = io.CopyN(&raw, r, length)
	return line, raw.Bytes(), err
}

// dig returns the function that serves a hole, which answers 504 after a time without an
// answer of the server behind it.
func dig(name string, patience time.Duration) (func(net.Listener) error, error) {
	if name == "tunnel" {
		return tunnel, nil
	}
	if name == "h2" {
		name = "cl-edge"
	}
	h, ok := holes[name]
	if !ok {
		return nil, fmt.Errorf("the hole is %q; allowed: h2, tunnel, %s", name, strings.Join(slices.Sorted(maps.Keys(holes)), ", "))
	}
	return func(l net.Listener) error { return h.serve(l, patience) }, nil
}

// serve serves clients until the listener is closed.
func (h hole) serve(listener net.Listener, patience time.Duration) error {
	back, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer back.Close()
	if h.upgrades {
		server := upgrading()
		defer server.Close()
		go func() { _ = server.Serve(back) }()
	} else {
		go func() { _ = accept(back, h.answer) }()
	}
	shared := &link{to: back.Addr().String(), patience: patience}
	return accept(listener, func(client net.Conn) {
		to := shared
		if h.own {
			to = &link{to: shared.to, patience: patience}
			defer to.close()
		}
		requests := bufio.NewReader(client)
		for {
			_, request, err := readRequest(requests, h.front)
			if err != nil {
				return
			}
			answer, last := to.exchange(request)
			if _, err := client.Write(answer); err != nil || last {
				return
			}
		}
	})
}

// accept serves each connection of a listener.
func accept(listener net.Listener, serve func(net.Conn)) error {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			serve(conn)
		}()
	}
}

// answer is the server behind the proxy. It has the path / alone, and answers other
// methods than GET, HEAD and POST with 405, as a request has that begins with the rest of
// another one.
func (h hole) answer(conn net.Conn) {
	requests := bufio.NewReader(conn)
	for {
		line, _, err := readRequest(requests, h.back)
		if err != nil {
			return
		}
		if begin := strings.Index(line, http.MethodGet); h.skip && begin > 0 {
			line = line[begin:]
		}
		words := strings.Fields(line)
		status := http.StatusOK
		switch {
		case len(words) != 3:
			status = http.StatusBadRequest
		case !slices.Contains([]string{"GET", "HEAD", "POST"}, words[0]):
			status = http.StatusMethodNotAllowed
		case words[1] != "/":
			status = http.StatusNotFound
		}
		text := http.StatusText(status) + "\n"
		if _, err := fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Length: %d\r\n\r\n%s", status, http.StatusText(status), len(text),
			text); err != nil {
			return
		}
	}
}

// link is a connection to the server.
type link struct {
	to       string
	patience time.Duration

	mu      sync.Mutex
	server  net.Conn // nil before the first request and after an error
	answers *bufio.Reader
}

// exchange sends a request as it is and returns the next answer on the connection, and
// whether the client's connection ends with it.
func (l *link) exchange(request []byte) (answer []byte, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	answer, err := l.try(request)
	if err != nil {
		l.drop()
		return []byte("HTTP/1.1 504 Gateway Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"), true
	}
	return answer, false
}

func (l *link) try(request []byte) ([]byte, error) {
	if l.server == nil {
		server, err := net.Dial("tcp", l.to)
		if err != nil {
			return nil, err
		}
		l.server, l.answers = server, bufio.NewReader(server)
	}
	if err := l.server.SetDeadline(time.Now().Add(l.patience)); err != nil {
		return nil, err
	}
	if _, err := l.server.Write(request); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(l.answers, nil)
	for err == nil && resp.StatusCode < 200 {
		resp, err = http.ReadResponse(l.answers, nil)
	}
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	err = resp.Write(&text)
	return text.Bytes(), err
}

func (l *link) drop() {
	if l.server != nil {
		l.server.Close()
		l.server = nil
	}
}

func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop()
}

// upgrading returns a server that upgrades to HTTP/2, in which it answers what comes
// behind the upgrade.
func upgrading() *http.Server {
	return &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "h2c" {
			origin().Handler.ServeHTTP(w, r)
			return
		}
		conn, text, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"); err == nil {
			answerHTTP2(text.Reader, conn)
		}
	})}
}

// answerHTTP2 answers each request of a connection of HTTP/2 with 200.
func answerHTTP2(r io.Reader, w io.Writer) {
	if _, err := io.ReadFull(r, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	framer := http2.NewFramer(w, r)
	if err := framer.WriteSettings(); err != nil {
		return
	}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return
		}
		if frame.Header().Type != http2.FrameHeaders {
			continue
		}
		block.Reset()
		// A buffer takes all that is written.
		_ = encoder.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
		answer := http2.HeadersFrameParam{StreamID: frame.Header().StreamID, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true}
		if err := framer.WriteHeaders(answer); err != nil {
			return
		}
	}
}

// tunnel is a proxy that passes every upgrade on, in front of a server that upgrades to
// HTTP/2: requests behind the upgrade pass whatever the proxy has for requests.
func tunnel(listener net.Listener) error {
	back, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := upgrading()
	go func() { _ = server.Serve(back) }()
	defer server.Close()
	return accept(listener, func(client net.Conn) {
		server, err := net.Dial("tcp", back.Addr().String())
		if err != nil {
			return
		}
		defer server.Close()
		go func() {
			_, _ = io.Copy(client, server)
			client.Close()
		}()
		requests := bufio.NewReader(client)
		for {
			_, request, err := readRequest(requests, byChunks)
			if err != nil {
				return
			}
			if _, err := server.Write(request); err != nil {
				return
			}
			if bytes.Contains(bytes.ToLower(request), []byte("\nupgrade:")) {
				_, _ = io.Copy(server, requests)
				return
			}
		}
	})
}
