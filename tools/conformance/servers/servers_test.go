package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// dug serves a hole until the test ends, and returns its address.
func dug(t *testing.T, name string) string {
	t.Helper()
	serve, err := dig(name, patienceOfTest(name))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go serve(l)
	return l.Addr().String()
}

// patienceOfTest is short for the hole that a test has wait, and long for the others.
func patienceOfTest(name string) time.Duration {
	if name == "h2c" {
		return 100 * time.Millisecond
	}
	return time.Minute
}

func dial(t *testing.T, address, text string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

const (
	plainGet = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	hidden   = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"
)

func post(headers, body string) string {
	return "POST / HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n" + body
}

// TestHoles sends each hole what it is for: the answers come to one client after another, and
// the last client gets the answer to a request that it did not send. Without the fields that
// make the hole all answers are 200.
func TestHoles(t *testing.T) {
	for name, c := range map[string]struct {
		attack, harmless string
		want             int // the answer to the next client
	}{
		"cl-te": {
			post("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\nG"), post("Content-Length: 6\r\n", "0\r\n\r\nG"), 405,
		},
		"te-cl": {
			post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "1\r\nA\r\n0\r\n\r\n"), post("Content-Length: 4\r\n", "1\r\nA"), 400,
		},
		"te-te": {
			post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n", "1\r\nA\r\n0\r\n\r\n"),
			post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "1\r\nA\r\n0\r\n\r\n"), 400,
		},
		"cl-edge": {
			post(fmt.Sprintf("Content-Length: %d\r\nContent-Length: 0\r\n", len(hidden)), hidden),
			post(fmt.Sprintf("Content-Length: %d\r\n", len(hidden)), hidden), 404,
		},
	} {
		for _, attack := range []bool{true, false} {
			text, want := c.harmless, 200
			if attack {
				text, want = c.attack, c.want
			}
			address := dug(t, name)
			for _, one := range []struct {
				text string
				want int
			}{{plainGet, 200}, {text, 200}, {plainGet, want}} {
				_, answers := dial(t, address, one.text)
				resp, err := http.ReadResponse(answers, nil)
				if err != nil {
					t.Fatal(err)
				}
				if resp.StatusCode != one.want {
					t.Errorf("%s, %q: status %d, want %d", name, one.text, resp.StatusCode, one.want)
				}
			}
		}
	}
}

// TestHoleWithoutLength has a server take the body of a request for the next one.
func TestHoleWithoutLength(t *testing.T) {
	address := dug(t, "cl-0")
	for body, want := range map[string]int{hidden: 404, "AAAA": 200} {
		_, answers := dial(t, address, post(fmt.Sprintf("Content-Length: %d\r\n", len(body)), body)+plainGet)
		for _, want := range []int{200, want} {
			resp, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != want {
				t.Errorf("%q: status %d, want %d", body, resp.StatusCode, want)
			}
		}
	}
}

// TestUpgradeThatIsLost has an upgrade pass, and its answer get lost.
func TestUpgradeThatIsLost(t *testing.T) {
	address := dug(t, "h2c")
	for upgrade, want := range map[string]int{"": 200,
		"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n": 504} {
		_, answers := dial(t, address, "GET / HTTP/1.1\r\nHost: x\r\n"+upgrade+"\r\n")
		resp, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != want {
			t.Errorf("%q: status %d, want %d", upgrade, resp.StatusCode, want)
		}
	}
}

// TestTunnel sends a request of HTTP/2 behind an upgrade.
func TestTunnel(t *testing.T) {
	conn, answers := dial(t, dug(t, "tunnel"), "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n")
	resp, err := http.ReadResponse(answers, nil)
	if err != nil || resp.StatusCode != 101 {
		t.Fatal(resp, err)
	}
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, answers)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	var head bytes.Buffer
	encoder := hpack.NewEncoder(&head)
	for _, f := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "x"}, {":path", "/hidden"}} {
		if err := encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			t.Fatal(err)
		}
	}
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	if err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: head.Bytes(), EndStream: true,
		EndHeaders: true}); err != nil {
		t.Fatal(err)
	}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if answer, ok := frame.(*http2.MetaHeadersFrame); ok && answer.StreamID == 3 {
			if got := answer.PseudoValue("status"); got != "200" {
				t.Errorf("status %s", got)
			}
			return
		}
	}
}
