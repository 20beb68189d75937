package main

import (
	"net"
	"net/http"
	"testing"

	"golang.org/x/net/http2"
)

// TestJudge has what servers did in a case, and whether that is right.
func TestJudge(t *testing.T) {
	protocol, compression := http2.ErrCodeProtocol, http2.ErrCodeCompression
	lives := conn{pongs: 2}
	ends := conn{goAway: &protocol, closed: true}
	answers := func(status int) conn { return conn{pongs: 2, status: map[uint32]int{1: status}} }
	for name, c := range map[string]struct {
		want want
		conn conn
		ok   bool
	}{
		"served":                             {served, answers(200), true},
		"refused":                            {served, answers(400), false},
		"not answered":                       {served, lives, false},
		"an end in place of an answer":       {served, ends, false},
		"no answer to a ping":                {alive, conn{pongs: 1, silent: true}, false},
		"an error of the connection":         {connection(protocol), ends, true},
		"with another code":                  {connection(compression), ends, false},
		"a silent end":                       {connection(compression), conn{closed: true}, true},
		"no error":                           {connection(protocol), lives, false},
		"an error of a stream":               {malformed, conn{pongs: 2, reset: []http2.ErrCode{protocol}}, true},
		"of a stream, with another code":     {malformed, conn{pongs: 2, reset: []http2.ErrCode{compression}}, false},
		"status 400":                         {malformed, answers(400), true},
		"status 200 for a malformed request": {malformed, answers(200), false},
		"status 502 for a malformed request": {malformed, answers(502), false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.want.judge(&c.conn); (err == nil) != c.ok {
				t.Errorf("judged %v", err)
			}
		})
	}
}

// TestServed plays the cases that a server serves.
func TestServed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Protocols: &http.Protocols{}, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok"))
	})}
	server.Protocols.SetUnencryptedHTTP2(true)
	go server.Serve(l)
	defer server.Close()
	names, played := map[string]bool{}, 0
	for _, c := range cases() {
		name := c.section + ", " + c.name
		if names[name] {
			t.Errorf("two cases have the name %q", name)
		}
		names[name] = true
		if !c.want.alive {
			continue
		}
		played++
		if err := c.run(l.Addr().String()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if played < 10 {
		t.Errorf("%d cases played", played)
	}
}
