package nethttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
)

// download is the body of an answer. What the attempt holds is given back when
// the body was read to its end, failed, or was closed.
type download struct {
	io.ReadCloser
	ctx     context.Context // of the attempt
	release func()
	idle    *idle // nil where a read may wait for ever
	done    atomic.Bool
	whole   *wholeAnswer // nil where the call ends with the headers
	ready   bool         // it is short, and no read waits

	// Of an answer whose reader may leave; nil for another one.
	grace  *Abandoned
	client context.Context

	// What first has read.
	ahead []byte
	end   error
}

// newDownload puts one around the body of an answer. Without a body there is
// nothing to hold anything for.
func newDownload(ctx context.Context, resp *http.Response, release func(), idle *idle) *download {
	d := &download{ReadCloser: resp.Body, ctx: ctx, release: release, idle: idle}
	if whole, ok := resp.Body.(interface{ Ready() bool }); ok && resp.ContentLength <= smallBytes {
		d.ready = whole.Ready()
	}
	both, writable := resp.Body.(io.ReadWriteCloser)
	switch {
	case resp.Body == nil || resp.Body == http.NoBody:
		resp.Body, d.ReadCloser = http.NoBody, http.NoBody
		d.finish()
	case writable && resp.StatusCode == http.StatusSwitchingProtocols:
		// A connection that was upgraded (RFC 9110 section 7.8) is written to
		// as well, and its place held until it is closed.
		resp.Body = &connection{download: d, Writer: both}
	default:
		resp.Body = d
	}
	return d
}

// finish says that the whole of the body was read, or that it is of no use.
func (d *download) finish() { d.ends(io.EOF) }

// ends says that the body is over, with the error of a read, nil where it is closed before its
// end.
func (d *download) ends(err error) {
	if d.whole != nil {
		d.whole.stop()
	}
	d.over(err)
}

func (d *download) over(err error) {
	if !d.done.CompareAndSwap(false, true) {
		return
	}
	defer d.idle.end()
	defer d.releaseAfter(err)
	if d.whole != nil {
		d.whole.done(d.whole.outcome(err))
	}
}

// idle ends an answer of which no part comes.
type idle struct {
	after  time.Duration
	err    error
	cancel context.CancelCauseFunc // of the attempt
	timer  *time.Timer             // of the present read
}

// wait begins a read, stop ends it. i may be nil.
func (i *idle) wait() {
	switch {
	case i == nil:
	case i.timer == nil:
		i.timer = time.AfterFunc(i.after, func() { i.cancel(i.err) })
	default:
		i.timer.Reset(i.after)
	}
}

func (i *idle) stop() {
	if i != nil {
		i.timer.Stop()
	}
}

// end says that the attempt needs its context no longer. i may be nil.
func (i *idle) end() {
	if i != nil {
		i.cancel(nil)
	}
}

// cut returns the error of a read, or the timeout that has cut the answer where the read failed
// for it.
func (d *download) cut(err error) error {
	if err == nil || err == io.EOF || d.ctx.Err() == nil {
		return err
	}
	if timeout, ok := context.Cause(d.ctx).(*sluice.TimeoutError); ok {
		return timeout
	}
	return err
}

// releaseAfter releases what is held. Where the client has left in the middle, the service
// may not know of it yet.
func (d *download) releaseAfter(err error) {
	if d.grace == nil || d.grace.Grace <= 0 || err == io.EOF || d.grace.over() || err != nil && d.client.Err() == nil {
		d.release()
		return
	}
	time.AfterFunc(d.grace.Grace, d.release)
}

// aheadBytes are read to see whether an answer has a first byte.
const aheadBytes = 512

// first waits for the first byte of the answer, or its end. An error comes from an
// answer that breaks off before.
func (d *download) first() (ended bool, err error) {
	ahead := make([]byte, aheadBytes)
	n := 0
	for n == 0 && err == nil {
		n, err = d.ReadCloser.Read(ahead)
	}
	d.ahead, d.end = ahead[:n], err
	switch {
	case n > 0:
		return false, nil
	case err == io.EOF:
		d.finish()
		return true, nil
	}
	return false, err
}

// Read implements io.Reader.
func (d *download) Read(b []byte) (int, error) {
	switch {
	case len(d.ahead) > 0:
		n := copy(b, d.ahead)
		d.ahead = d.ahead[n:]
		return n, nil
	case d.end != nil:
		d.ends(d.end)
		return 0, d.end
	}
	if d.whole != nil {
		d.whole.reads()
	}
	d.idle.wait()
	n, err := d.ReadCloser.Read(b)
	d.idle.stop()
	err = d.cut(err)
	if d.whole != nil {
		d.whole.pauses()
	}
	if err != nil {
		d.ends(err)
	}
	return n, err
}

// Close implements io.Closer.
func (d *download) Close() error {
	defer d.ends(nil)
	return d.ReadCloser.Close()
}

// connection is an answer of status 101. The end of one direction is not yet
// the end of the other.
type connection struct {
	*download
	io.Writer
}

// Read implements io.Reader.
func (c *connection) Read(b []byte) (int, error) { return c.ReadCloser.Read(b) }

// CloseWrite ends one direction, where the connection can.
func (c *connection) CloseWrite() error {
	if w, ok := c.Writer.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return errors.ErrUnsupported
}

const (
	// drainBytes is how much of an abandoned answer is read to use its
	// connection again. More costs more than a new connection.
	drainBytes = 64 << 10
	// drainTime is how long that may take.
	drainTime = 100 * time.Millisecond
)

// abandon reads an answer that no caller uses to its end, within bounds, and
// closes it.
func (d *download) abandon() {
	if d.done.Load() {
		d.ReadCloser.Close()
		return
	}
	// The end of the context ends a read that waits.
	timer := time.AfterFunc(drainTime, d.finish)
	// An answer that cannot be read or closed is gone all the same.
	_, _ = io.CopyN(io.Discard, d.ReadCloser, drainBytes)
	timer.Stop()
	defer d.finish()
	_ = d.ReadCloser.Close()
}
