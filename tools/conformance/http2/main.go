// Command http2 sends what RFC 9113 and RFC 7541 forbid, and a few requests that they
// allow, to a server of HTTP/2 by prior knowledge, and prints a line for each case that
// the server does not treat as they ask, with the reason behind a tab:
//
//	http2 ADDRESS
package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// patience is how long a server may take in a case.
const patience = 5 * time.Second

// moment is how long an error of a stream may come after the answers to pings.
const moment = 500 * time.Millisecond

// atOnce is how many cases run at once.
const atOnce = 8

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: http2 ADDRESS")
		os.Exit(2)
	}
	// A server that does not answer at all would fail every case, and so be like another.
	c, err := open(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "http2:", err)
		os.Exit(1)
	}
	c.Close()
	all := cases()
	slices.SortStableFunc(all, func(a, b one) int {
		return cmp.Or(cmp.Compare(a.section, b.section), cmp.Compare(a.name, b.name))
	})
	// A server may take a second to close a connection.
	results := make([]error, len(all))
	var running sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for i, c := range all {
		free <- struct{}{}
		running.Go(func() {
			results[i] = c.run(os.Args[1])
			<-free
		})
	}
	running.Wait()
	for i, c := range all {
		if results[i] != nil {
			fmt.Printf("failed %s, %s\t%v\n", c.section, c.name, results[i])
		}
	}
	fmt.Println(len(all), "cases")
}

// run plays a case on a connection of its own and returns what the server did wrong.
func (o one) run(address string) error {
	c, err := open(address)
	if err != nil {
		return err
	}
	defer c.Close()
	o.do(c)
	c.finish(o.want)
	return o.want.judge(c)
}

// judge compares what a connection has seen.
func (w want) judge(c *conn) error {
	switch {
	case w.scope == "":
		if !c.alive() {
			return fmt.Errorf("the connection ended: %s", c.ended())
		}
		if w.served && (c.status[1] == 0 || c.status[1] >= 400) {
			return fmt.Errorf("stream 1 has status %d", c.status[1])
		}
		return nil
	case c.closed && c.goAway == nil:
		return nil // an error of the connection is one of the stream, too, and may be silent
	case c.goAway != nil && slices.Contains(w.codes, *c.goAway):
		return nil
	case w.scope == "connection":
		return fmt.Errorf("the connection did not end with %v: %s", w.codes, c.ended())
	}
	for _, code := range c.reset {
		if slices.Contains(w.codes, code) {
			return nil
		}
	}
	if status := c.status[1]; slices.Contains(w.codes, http2.ErrCodeProtocol) && status >= 400 && status < 500 {
		return nil
	}
	return fmt.Errorf("the stream did not end with %v: status %d, resets %v, %s", w.codes, c.status[1], c.reset, c.ended())
}

// conn is a connection to the server, and what came back.
type conn struct {
	net.Conn
	framer *http2.Framer
	text   bytes.Buffer // of encoder
	coder  *hpack.Encoder

	status  map[uint32]int
	over    map[uint32]bool // streams that the server has ended
	reset   []http2.ErrCode // of streams
	goAway  *http2.ErrCode
	most    uint32 // the largest payload that the server takes
	greeted bool
	closed  bool // by the server
	silent  bool // nothing came in time
	pongs   int
}

// open connects and exchanges settings.
func open(address string) (*conn, error) {
	tcp, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: tcp, framer: http2.NewFramer(tcp, tcp), status: map[uint32]int{}, over: map[uint32]bool{}, most: 16 << 10}
	c.framer.AllowIllegalWrites = true
	c.framer.SetMaxReadFrameSize(1 << 20)
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.coder = hpack.NewEncoder(&c.text)
	err = errors.Join(c.SetDeadline(time.Now().Add(patience)), write(tcp, http2.ClientPreface), c.framer.WriteSettings(),
		c.framer.WriteSettingsAck())
	// The first frame of a server is SETTINGS.
	if err == nil {
		c.next()
		if !c.greeted {
			err = errors.New("the server does not begin with SETTINGS")
		}
	}
	if err != nil {
		tcp.Close()
	}
	return c, err
}

func write(to net.Conn, text string) error {
	_, err := to.Write([]byte(text))
	return err
}

// encode encodes fields, which are names and values by turns, without the table that
// would make one block depend on another.
func (c *conn) encode(fields ...string) []byte {
	c.text.Reset()
	for i := 0; i < len(fields); i += 2 {
		// A buffer takes everything.
		_ = c.coder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1], Sensitive: true})
	}
	return bytes.Clone(c.text.Bytes())
}

func (c *conn) headers(id uint32, flags http2.Flags, fields ...string) {
	c.raw(http2.FrameHeaders, flags, id, c.encode(fields...))
}

// raw sends a frame. An error means that the server has closed the connection, which
// reading shows too.
func (c *conn) raw(t http2.FrameType, flags http2.Flags, id uint32, payload []byte) {
	_ = c.framer.WriteRawFrame(t, flags, id, payload)
}

func (c *conn) settings(id http2.SettingID, value uint32) {
	_ = c.framer.WriteSettings(http2.Setting{ID: id, Val: value})
}

// answered reads until a stream is over.
func (c *conn) answered(id uint32) {
	for !c.over[id] && !c.done() {
		c.next()
	}
}

// finish reads until the server has seen everything: it answers two pings, the second of
// which is sent after the first answer, or closes the connection. A request of the case
// may need longer on its way through a proxy: finish waits for its answer, as long as
// may be where stream 1 is to be served, else for a moment.
func (c *conn) finish(w want) {
	if w.served {
		c.answered(1)
	}
	for n := range 2 {
		_ = c.framer.WritePing(false, [8]byte{'p', 'i', 'n', 'g', byte(n)})
		for c.pongs <= n && !c.done() {
			c.next()
		}
	}
	if w.scope == "" {
		return
	}
	_ = c.SetReadDeadline(time.Now().Add(moment))
	for len(c.status) == 0 && len(c.reset) == 0 && !c.done() {
		c.next()
	}
}

// done reports whether nothing more will be read.
func (c *conn) done() bool { return c.closed || c.silent }

// alive reports whether the server answers.
func (c *conn) alive() bool { return c.pongs == 2 && !c.closed && c.goAway == nil }

// ended says how the connection ended.
func (c *conn) ended() string {
	switch {
	case c.goAway != nil:
		return fmt.Sprint("GOAWAY with ", *c.goAway)
	case c.closed:
		return "the server closed it"
	case c.pongs < 2:
		return "no answer to a ping"
	}
	return "it goes on"
}

// next reads a frame.
func (c *conn) next() {
	frame, err := c.framer.ReadFrame()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.silent = true
		return
	}
	if err != nil {
		c.closed = true
		return
	}
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		c.greeted = true
		if most, ok := f.Value(http2.SettingMaxFrameSize); ok {
			c.most = most
		}
	case *http2.MetaHeadersFrame:
		if status, err := strconv.Atoi(f.PseudoValue("status")); err == nil && status >= 200 {
			c.status[f.StreamID] = status
		}
		c.over[f.StreamID] = c.over[f.StreamID] || f.StreamEnded()
	case *http2.DataFrame:
		c.over[f.StreamID] = c.over[f.StreamID] || f.StreamEnded()
	case *http2.RSTStreamFrame:
		c.reset = append(c.reset, f.ErrCode)
		c.over[f.StreamID] = true
	case *http2.GoAwayFrame:
		c.goAway = &f.ErrCode
	case *http2.PingFrame:
		if f.IsAck() && string(f.Data[:4]) == "ping" {
			c.pongs++
		}
	}
}
