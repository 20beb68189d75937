package nethttp

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// upload is the body of a request on its way to several attempts. The first one
// reads the caller's body. Later ones read what GetBody gives, or what was kept
// of the caller's body and then on from there.
type upload struct {
	source  io.ReadCloser // nil for none
	getBody func() (io.ReadCloser, error)
	most    int64       // bytes to keep, 0 for none
	client  *clientBody // below source, nil for a body that did not come in by Proxy

	failed atomic.Pointer[error] // what the caller's own body failed with
	waits  atomic.Bool           // a read of source waits
	ended  atomic.Bool           // an attempt has read the body to its end

	reading sync.Mutex // of source and kept
	kept    []byte
	end     error // with which source ended

	mu      sync.Mutex // of the rest; may be taken while reading is held
	current *part
	frozen  bool // another attempt may follow: nothing may be lost
	lost    bool // more was read than is kept
	final   bool // no attempt follows
	open    int  // parts that are not closed
	closed  bool // source
}

// part is the body of one attempt.
type part struct {
	*upload
	from   io.ReadCloser // of GetBody, nil for the caller's own
	at     int           // bytes of kept that it has read
	done   atomic.Bool
	closer sync.Once
}

var (
	errBodyLost  = errors.New("nethttp: more of the body was sent than is kept for a retry")
	errAbandoned = errors.New("nethttp: the attempt is over")
)

// none reports whether there is nothing to send.
func (u *upload) none() bool { return u.source == nil || u.source == http.NoBody }

// stalls reports whether an attempt may wait for the caller's body.
func (u *upload) stalls() bool { return !u.none() && (u.getBody == nil || u.client != nil) }

// unfinished reports whether an attempt that ends now ends while the caller has not
// sent the whole body. Of a caller in this process, only a read that waits shows it:
// otherwise the dependency does not take more.
func (u *upload) unfinished() bool {
	switch {
	case u.none():
		return false
	case u.client != nil:
		return u.client.unfinished()
	}
	return u.waits.Load() || u.failed.Load() != nil
}

// sent reports whether all of the body was handed over.
func (u *upload) sent() bool { return u.none() || u.ended.Load() }

// interrupt ends a read that waits for the caller, when the attempt is over.
func (u *upload) interrupt() {
	switch {
	case u.client != nil:
		u.client.interrupt()
	case u.waits.Load():
		u.abort()
	}
}

// took returns how long attempts have waited for the client.
func (u *upload) took() time.Duration { return u.client.took() }

// next returns the body of the next attempt.
func (u *upload) next(first bool) (io.ReadCloser, error) {
	if u.none() {
		return u.source, nil
	}
	p := &part{upload: u}
	if !first && u.getBody != nil {
		from, err := u.getBody()
		if err != nil {
			return nil, err
		}
		p.from = from
		return p, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.lost {
		return nil, errBodyLost
	}
	if u.current != nil {
		u.current.done.Store(true)
	}
	u.current, u.frozen = p, false
	u.open++
	return p, nil
}

// repeatable reports whether another attempt could send the body, and keeps it
// so until next or finish.
func (u *upload) repeatable() bool {
	if u.none() || u.getBody != nil {
		return true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.frozen = !u.lost && u.most > 0
	return u.frozen
}

// finish says that no attempt follows. The last one may still be sending: a
// server may answer before it has read everything.
func (u *upload) finish() {
	if u.none() {
		return
	}
	u.mu.Lock()
	u.final, u.frozen = true, false
	last := u.open == 0 && !u.closed
	u.closed = u.closed || last
	u.mu.Unlock()
	if last {
		u.source.Close()
	}
}

// abort closes the body when no attempt will read it.
func (u *upload) abort() {
	if u.none() {
		return
	}
	u.mu.Lock()
	closed := u.closed
	u.closed = true
	u.mu.Unlock()
	if !closed {
		u.source.Close()
	}
}

// Read implements io.Reader.
func (p *part) Read(b []byte) (int, error) {
	if p.done.Load() {
		return 0, errAbandoned
	}
	if p.from != nil {
		n, err := p.from.Read(b)
		p.note(err)
		return n, err
	}
	p.reading.Lock()
	defer p.reading.Unlock()
	switch {
	case p.done.Load(): // while it waited for an earlier attempt's last read
		return 0, errAbandoned
	case p.at < len(p.kept):
		n := copy(b, p.kept[p.at:])
		p.at += n
		return n, nil
	case p.end != nil:
		return 0, p.end
	}
	p.waits.Store(true)
	n, err := p.source.Read(b)
	p.waits.Store(false)
	p.end = err
	p.note(err)
	if lost := p.keep(b[:n]); lost != nil {
		return n, lost
	}
	return n, err
}

// note remembers that the body itself failed, which is not the dependency's
// fault.
func (p *part) note(err error) {
	switch err {
	case nil:
	case io.EOF:
		p.ended.Store(true)
	default:
		p.failed.Store(&err)
	}
}

// keep keeps what was read for a later attempt. The reader of an attempt that
// is over may receive bytes late, and keeps them for the next one.
func (p *part) keep(data []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.lost || p.final && p.current == p:
		p.kept, p.lost = nil, true
	case int64(len(p.kept)+len(data)) <= p.most || p.current != p:
		p.kept = append(p.kept, data...)
		p.at = len(p.kept)
	case p.frozen:
		// What was read here would be missing there.
		p.lost = true
		return errAbandoned
	default:
		p.kept, p.lost = nil, true
	}
	return nil
}

// Close implements io.Closer. The caller's body is closed when no attempt can
// read it any more.
func (p *part) Close() error {
	var err error
	p.closer.Do(func() {
		p.done.Store(true)
		if p.from != nil {
			err = p.from.Close()
			return
		}
		p.mu.Lock()
		p.open--
		last := p.final && p.open == 0 && !p.closed
		p.upload.closed = p.upload.closed || last
		p.mu.Unlock()
		if last {
			err = p.source.Close()
		}
	})
	return err
}
