package serve

import (
	"errors"
	"io"
	"net/http"
	"sync"
)

// sentBody is the body of a request that may go to more than one upstream. It is
// closed when no other one may read it.
type sentBody struct {
	io.ReadCloser
	mu     sync.Mutex
	left   int64 // -1 where it is unknown
	read   bool
	whole  bool
	tries  int
	closed bool // by the transport of the latest try
	last   bool // no other upstream reads it
}

// tryBody is the body for one try.
type tryBody struct {
	*sentBody
	number int
}

// newSentBody returns nil for a request without a body.
func newSentBody(req *http.Request) *sentBody {
	if req.Body == nil || req.Body == http.NoBody {
		return nil
	}
	left := req.ContentLength
	if left == 0 {
		left = -1 // unknown, as the body is there
	}
	return &sentBody{ReadCloser: req.Body, left: left}
}

// next returns the body for another try.
func (b *sentBody) next() io.ReadCloser {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tries++
	b.closed = false
	return &tryBody{b, b.tries}
}

// Read implements io.Reader.
func (b *sentBody) Read(to []byte) (int, error) {
	b.mu.Lock()
	b.read = true
	b.mu.Unlock()
	n, err := b.ReadCloser.Read(to)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left >= 0 {
		b.left -= int64(n)
	}
	b.whole = b.whole || err == io.EOF || b.left == 0
	return n, err
}

// Close implements io.Closer.
func (t *tryBody) Close() error {
	t.mu.Lock()
	present := t.number == t.tries
	t.closed = t.closed || present
	last := present && t.last
	t.mu.Unlock()
	if !last {
		return nil
	}
	return t.ReadCloser.Close()
}

// release says that no other upstream reads the body.
func (b *sentBody) release() {
	if b == nil {
		return
	}
	b.mu.Lock()
	b.last = true
	closed := b.closed
	b.mu.Unlock()
	if closed {
		// The transport that closed it had no use for an error.
		_ = b.ReadCloser.Close()
	}
}

// touched reports whether a part of the body may be gone.
func (b *sentBody) touched() bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.read
}

// unfinished reports whether a part of the body was not read.
func (b *sentBody) unfinished() bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.whole
}

// answerBody is the body of an answer, which calls done once when it is over.
type answerBody struct {
	io.ReadCloser
	once sync.Once
	done func()
}

// countUntilClosed calls done when the body of an answer was read or closed.
func countUntilClosed(resp *http.Response, done func()) {
	both, upgraded := resp.Body.(io.ReadWriteCloser)
	switch b := (&answerBody{ReadCloser: resp.Body, done: done}); {
	case resp.Body == http.NoBody:
		done()
	case upgraded && resp.StatusCode == http.StatusSwitchingProtocols:
		resp.Body = &upgradedBody{answerBody: b, Writer: both}
	default:
		resp.Body = b
	}
}

// Read implements io.Reader.
func (b *answerBody) Read(to []byte) (int, error) {
	n, err := b.ReadCloser.Read(to)
	if err != nil {
		b.once.Do(b.done)
	}
	return n, err
}

// Close implements io.Closer.
func (b *answerBody) Close() error {
	defer b.once.Do(b.done)
	return b.ReadCloser.Close()
}

// upgradedBody is a connection that was upgraded. The end of one direction is not yet
// the end of the other.
type upgradedBody struct {
	*answerBody
	io.Writer
}

// Read implements io.Reader.
func (b *upgradedBody) Read(to []byte) (int, error) { return b.ReadCloser.Read(to) }

// CloseWrite ends one direction, where the connection can.
func (b *upgradedBody) CloseWrite() error {
	if w, ok := b.Writer.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return errors.ErrUnsupported
}
