package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// kinds are the hostile clients. Each opens a connection, does its worst, and stays
// connected until the proxy closes it; those that leave do it at once.
var kinds = []struct {
	name string
	do   func(c *client)
}{
	{"a body that stops", func(c *client) { c.say(post(1000), "h"); c.read() }},
	{"a body that never begins", func(c *client) { c.say(post(1000)); c.read() }},
	{"a body byte by byte", func(c *client) { c.say(post(1000)); c.drip() }},
	{"reads nothing", func(c *client) { c.say(line("GET", "/long/x"), "\r\n"); c.trickle() }},
	{"leaves before the answer", func(c *client) { c.say(line("GET", "/slow/x"), "\r\n"); c.leave() }},
	{"leaves in its body", func(c *client) { c.say(post(1000), "hello"); c.leave() }},
	{"other spellings of /admin", func(c *client) {
		for _, path := range spellings {
			c.once(line("GET", path) + "Connection: close\r\n\r\n")
			c.once(line("HEAD", path) + "Connection: close\r\n\r\n")
		}
	}},
	{"invented keys", func(c *client) {
		for range 20 {
			c.once(line("GET", "/keyed/x") + "X-Api-Key: " + rand.Text() + "\r\nConnection: close\r\n\r\n")
		}
	}},
	{"an idle websocket", func(c *client) {
		c.say(line("GET", "/socket/x"), "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		c.read()
	}},
	{"a websocket in use", func(c *client) {
		c.say(line("GET", "/socket/x"), "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		c.drip()
	}},
	{"an upgrade to h2c", func(c *client) {
		c.say(line("GET", "/slow/x"), "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n")
		c.say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
		c.read()
	}},
	{"a broken chunk", func(c *client) {
		c.say(line("POST", "/body/x"), "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n")
		c.read()
	}},
	{"a chunk that stops", func(c *client) {
		c.say(line("POST", "/body/x"), "Transfer-Encoding: chunked\r\n\r\nff\r\nhello")
		c.read()
	}},
	{"no headers", func(c *client) { c.say("GET / HTTP/1.1\r\nHost: x\r\n"); c.read() }},
	{"nothing at all", func(c *client) { c.read() }},
	{"half-closed in a body", func(c *client) { c.say(post(1000), "h"); c.halfClose(); c.read() }},
	{"half-closed before the answer", func(c *client) { c.say(line("GET", "/slow/x"), "\r\n"); c.halfClose(); c.read() }},
	{"a tunnel", func(c *client) { c.say("CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: x\r\n\r\n"); c.read() }},
}

// spellings are forms of the path /admin/x, one of which is plain.
var spellings = []string{
	"/admin/x", "/%61dmin/x", "//admin/x", "/./admin/x", "/admin%2Fx", "/x/../admin/x", "/x/%2e%2e/admin/x", "/admin//x", "/admin/./x",
}

func line(method, path string) string { return method + " " + path + " HTTP/1.1\r\nHost: soak\r\n" }

func post(length int) string {
	return line("POST", "/body/x") + fmt.Sprintf("Content-Length: %d\r\n\r\n", length)
}

// client is one hostile connection.
type client struct {
	ctx     context.Context
	address string
	ip      string
	conn    net.Conn
}

// attackers starts a client of each kind every so often until the context attack ends, one
// kind after another: strangers do not come in step, and 18 at once would be what the
// slowest of 100 honest requests measures.
// Those that are connected stay so until hold ends; connected counts them by kind.
func attackers(attack, hold context.Context, every time.Duration, address string, connected []atomic.Int64) (ended func()) {
	var all sync.WaitGroup
	for i, kind := range kinds {
		ip := fmt.Sprintf("127.0.2.%d", i+1)
		all.Go(func() {
			wait(attack, every*time.Duration(i)/time.Duration(len(kinds)))
			ticker := time.NewTicker(every)
			defer ticker.Stop()
			for {
				select {
				case <-attack.Done():
					return
				case <-ticker.C:
					all.Go(func() {
						c := &client{ctx: hold, address: address, ip: ip}
						var err error
						if c.conn, err = c.dial(); err != nil {
							return
						}
						defer c.conn.Close()
						connected[i].Add(1)
						defer connected[i].Add(-1)
						// The end of hold ends reads and writes that wait.
						defer context.AfterFunc(hold, func() { c.conn.Close() })()
						kind.do(c)
					})
				}
			}
		})
	}
	return all.Wait
}

func (c *client) dial() (net.Conn, error) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(c.ip)}, Timeout: 5 * time.Second}
	return dialer.DialContext(c.ctx, "tcp", c.address)
}

// say sends texts. An error means that the proxy has closed the connection, which read
// sees too.
func (c *client) say(texts ...string) { _, _ = io.WriteString(c.conn, strings.Join(texts, "")) }

// read reads until the connection ends.
func (c *client) read() { _, _ = io.Copy(io.Discard, c.conn) }

// drip sends a byte a second, and reads, until the connection ends.
func (c *client) drip() {
	go c.read()
	c.trickle()
}

// trickle sends a byte a second until the connection ends.
func (c *client) trickle() {
	for {
		if _, err := io.WriteString(c.conn, "x"); err != nil {
			return
		}
		select {
		case <-c.ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

// leave closes the connection after a moment, in which the request arrives.
func (c *client) leave() {
	time.Sleep(50 * time.Millisecond)
	c.conn.Close()
}

func (c *client) halfClose() {
	if tcp, ok := c.conn.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
}

// once sends a request on a connection of its own and reads the answer.
func (c *client) once(request string) {
	conn, err := c.dial()
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(conn, request)
	_, _ = io.Copy(io.Discard, conn)
}
