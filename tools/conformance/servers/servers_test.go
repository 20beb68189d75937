package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
)

// TestHole has one client leave the beginning of a request in the connection to the
// server, and another one whose request is read as the rest of it.
func TestHole(t *testing.T) {
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	}
	behind, front := listen(), listen()
	server := origin()
	go server.Serve(behind)
	defer server.Close()
	go (&hole{to: behind.Addr().String()}).serve(front)

	for _, c := range []struct {
		text string
		want int
	}{
		{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 200},
		{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG", 200},
		{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 405}, // GGET
	} {
		conn, err := net.Dial("tcp", front.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, c.text); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != c.want {
			t.Errorf("%q: status %d, want %d", c.text, resp.StatusCode, c.want)
		}
	}
}
