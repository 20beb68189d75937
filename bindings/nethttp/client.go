package nethttp

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/sluice-go/sluice/internal/refusals"
	"github.com/sluice-go/sluice/policy"
)

// defaultHTTP is what a document without the section http means.
var defaultHTTP = policy.HTTP{
	BodyTimeout: 30 * time.Second, BodyRate: policy.ByteRate{Bytes: 1 << 10, Period: time.Second}, StreamIdle: 5 * time.Minute,
}

// ClientError says that the body of a request did not arrive: the client sent it
// too slowly or broke it off. It is never counted against what is guarded.
type ClientError struct {
	// Status is the answer that the client gets if it can still be sent: 408 when
	// the client took too long, 413 for a body that is too long for an
	// http.MaxBytesReader, else 400.
	Status int
	// Err is what the body was read with, or what cut the request.
	Err error
}

// Error implements error.
func (e *ClientError) Error() string {
	return "nethttp: the body of the request did not arrive: " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *ClientError) Unwrap() error { return e.Err }

// late reports whether the client took too long. e may be nil.
func (e *ClientError) late() bool { return e != nil && e.Status == http.StatusRequestTimeout }

// answer returns what the client of a request gets.
func (e *ClientError) answer(r *http.Request) answer {
	p := refusals.Problem{Type: refusals.Blank, Title: http.StatusText(e.Status), Status: e.Status, Reason: "body"}
	switch e.Status {
	case http.StatusRequestTimeout:
		p.Detail = "The body of the request did not arrive in time."
	case http.StatusRequestEntityTooLarge:
		p.Detail = "The body of the request is too long."
	default:
		p.Detail = "The body of the request cannot be read."
	}
	a := answer{status: e.Status, header: http.Header{"Content-Type": {refusals.ContentType}, "Cache-Control": {"no-store"}}}
	if r.ProtoMajor == 1 {
		// What is left of the body must not be read as another request.
		a.header.Set("Connection", "close")
	}
	a.detail = p.Detail
	a.body = p.Text()
	return a
}

// clientError gives an error of a body its meaning, nil for the end of the body and
// for an error that is not the client's.
func clientError(err error) *ClientError {
	var known *ClientError
	var long *http.MaxBytesError
	switch {
	case err == nil, err == io.EOF, errors.Is(err, http.ErrBodyReadAfterClose):
		return nil
	case errors.As(err, &known):
		return known
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &ClientError{http.StatusRequestTimeout, err}
	case errors.As(err, &long):
		return &ClientError{http.StatusRequestEntityTooLarge, err}
	}
	return &ClientError{http.StatusBadRequest, err}
}

// clientBody is the body of a request that came in. Its reads end when the client
// takes longer than it may, and when the request is cut.
type clientBody struct {
	io.ReadCloser
	connection *http.ResponseController
	bounds     *policy.HTTP
	now        func() time.Time
	length     int64     // -1 where it is unknown
	opened     time.Time // when the attempt began, where a breaker looks for slow ones
	progress   func()    // is called when bytes have come; nil for nothing

	mu       sync.Mutex
	asked    bool // the body was read from
	reading  bool // a read waits for the client
	since    time.Time
	received int64
	waited   time.Duration // in reads that are over
	whole    bool
	armed    bool // a deadline was set
	cut      bool
	own      time.Time // the deadline of the handler, or of the server's ReadTimeout; zero for none
	over     bool      // the handler has returned
	failed   *ClientError
}

// newClientBody puts one around the body of a request that came in, nil for none.
func newClientBody(w http.ResponseWriter, r *http.Request, bounds *policy.HTTP, now func() time.Time) *clientBody {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return nil
	}
	b := &clientBody{ReadCloser: r.Body, connection: http.NewResponseController(w), bounds: bounds, now: now, length: r.ContentLength}
	if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && server.ReadTimeout > 0 {
		b.own = now().Add(server.ReadTimeout)
	}
	return b
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// Read implements io.Reader.
func (b *clientBody) Read(p []byte) (int, error) {
	if err := b.begin(); err != nil {
		return 0, err
	}
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.progress != nil {
		b.progress()
	}
	return n, b.end(n, err)
}

func (b *clientBody) begin() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.failed != nil:
		return b.failed
	case b.whole:
		return nil
	case b.cut:
		b.failed = &ClientError{http.StatusRequestTimeout, os.ErrDeadlineExceeded}
		return b.failed
	}
	b.asked, b.reading, b.since = true, true, b.now()
	b.arm()
	return nil
}

func (b *clientBody) end(n int, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reading {
		b.waited += b.now().Sub(b.since)
		b.reading = false
	}
	b.received += int64(n)
	failed := clientError(err)
	switch {
	case b.whole:
	case err == io.EOF, b.length >= 0 && b.received >= b.length && failed == nil:
		b.whole = true
		if b.armed && !b.over && !b.cut {
			// A deadline that passed later would end the context of the request.
			_ = b.connection.SetReadDeadline(b.own)
		}
	case failed != nil:
		b.failed = failed
		return failed
	}
	return err
}

// arm sets the deadline of the next part. Its caller holds the lock.
func (b *clientBody) arm() {
	d, bounded := b.allowed()
	if !bounded || b.over || b.cut || b.whole {
		return
	}
	from := b.since
	if !b.reading {
		from = b.now()
	}
	at := from.Add(d)
	if !b.own.IsZero() && b.own.Before(at) {
		at = b.own
	}
	b.armed = true
	// Where a writer has no deadlines, nothing bounds the client.
	_ = b.connection.SetReadDeadline(at)
}

// setDeadline works as in http.ResponseController: the bounds do not lift a deadline
// that the handler sets itself.
func (b *clientBody) setDeadline(at time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.own = at
	_, bounded := b.allowed()
	switch {
	case b.cut, b.over:
		return nil
	case b.reading && bounded:
		b.arm()
		return nil
	}
	return b.connection.SetReadDeadline(at)
}

// graceTime is how long a client may take longer than its least rate where no
// timeout of the body says so.
const graceTime = 30 * time.Second

// allowed returns how long the client may take for the next part.
func (b *clientBody) allowed() (d time.Duration, bounded bool) {
	timeout, rate := b.bounds.BodyTimeout, b.bounds.BodyRate
	if rate.Bytes == 0 {
		return timeout, timeout > 0
	}
	grace := timeout
	if grace == 0 {
		grace = graceTime
	}
	// In float64, because the product may be too large for integers.
	takes := float64(b.received) / float64(rate.Bytes) * float64(rate.Period)
	d = max(0, grace-b.waited+time.Duration(min(takes, float64(1<<62))))
	if timeout > 0 {
		d = min(d, timeout)
	}
	return d, true
}

// answering sets the deadline of what the server itself reads of the body after the
// answer.
func (b *clientBody) answering() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.reading {
		b.arm()
	}
}

// unbound lifts the bounds of the body: from here on the bounds of the answer hold.
func (b *clientBody) unbound() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bounds = &policy.HTTP{}
	if b.armed && !b.whole && !b.cut && !b.over {
		_ = b.connection.SetReadDeadline(b.own)
	}
}

// interrupt ends the reads of the body, the present one included, unless all of it
// has come.
func (b *clientBody) interrupt() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.whole || b.over || b.cut {
		return
	}
	b.cut = true
	_ = b.connection.SetReadDeadline(longAgo)
}

// finish says that the handler returns: the connection is the server's again.
func (b *clientBody) finish() {
	if b == nil {
		return
	}
	b.answering()
	b.mu.Lock()
	b.over = true
	b.mu.Unlock()
}

// failure returns why the rest of the body does not come, nil while it may.
func (b *clientBody) failure() *ClientError {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

// stalled reports whether more of the body was asked for than has come.
func (b *clientBody) stalled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reading || b.failed != nil
}

// unfinished reports whether a part of the body has not come that was asked for.
func (b *clientBody) unfinished() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked && !b.whole
}

// took returns how long the client was waited for.
func (b *clientBody) took() time.Duration {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reading {
		return b.waited + b.now().Sub(b.since)
	}
	return b.waited
}
