package recording

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/trace"
)

// DefaultBuffer is the size of the buffer in bytes.
const DefaultBuffer = 1 << 20

// Options of a Recorder. The caller has validated them.
type Options struct {
	// Sink receives the lines; nil keeps the latest ones in memory.
	Sink Sink
	// Buffer is the size of the buffer in bytes. There are two of them.
	Buffer int
	// Sample is the share of the keys that are recorded, above 0 and up to 1, and By
	// are the attributes that make the key, none for the attributes of the policy.
	Sample float64
	By     []string
	// Attributes are recorded beside those that the policy uses.
	Attributes []string
	Redact     Redact
	// Prefixed says that ids begin with the name of their policy.
	Prefixed bool
	// Origin is the mark that is 0 in the trace, and Began its wall time.
	Origin clock.Mark
	Began  time.Time
}

// Stats counts what a Recorder has done.
type Stats struct {
	Calls, Lines         uint64
	LostCalls, LostLines uint64
	Overwritten          uint64
}

// Recorder records the calls of one or several policies.
type Recorder struct {
	options Options
	secret  [32]byte // of hashes

	mu sync.Mutex
	// current is the buffer that lines are appended to. older is the one that is being
	// written, or, without a sink, has the lines before the current ones.
	current, older []byte
	count          uint64 // lines of current
	olderCount     uint64
	pipes          []*Pipe
	stats          Stats
	end            clock.Mark // of the last line
	closed         bool
	err            error // of the sink

	wake    chan struct{} // has a value when current is not empty
	stopped chan struct{} // closed when the goroutine has ended
}

// New returns a recorder. One with a sink runs a goroutine until Close.
func New(o Options) *Recorder {
	r := &Recorder{options: o, wake: make(chan struct{}, 1), stopped: make(chan struct{})}
	// After an error the hashes of all traces are alike, which is not fatal.
	_, _ = rand.Read(r.secret[:])
	r.current, r.older = make([]byte, 0, o.Buffer), make([]byte, 0, o.Buffer)
	if o.Sink != nil {
		go r.write()
	} else {
		close(r.stopped)
	}
	return r
}

// Begin has the headers written, when the first policies are there.
func (r *Recorder) Begin() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// roomFor reports whether lines of a size have room, and makes room without a sink. New
// calls leave a quarter of the buffer to the calls that are already recorded, whose lines
// would be of less use without the rest. The caller holds the lock.
func (r *Recorder) roomFor(size int, isCall bool) bool {
	if r.err != nil {
		return false
	}
	limit := cap(r.current)
	if r.options.Sink == nil {
		if len(r.current)+size > limit {
			r.stats.Overwritten += r.olderCount
			r.swap()
		}
		return len(r.current)+size <= limit
	}
	if isCall {
		limit -= limit / 4
	}
	return len(r.current)+size <= limit
}

// swap makes the current buffer the older one. The caller holds the lock.
func (r *Recorder) swap() {
	r.current, r.older = r.older[:0], r.current
	r.count, r.olderCount = 0, r.count
	for _, p := range r.pipes {
		p.older, p.current = p.current, p.latest
	}
}

// added counts lines that were appended to the current buffer, which had a size before.
// The caller holds the lock.
func (r *Recorder) added(lines uint64, before int) {
	r.count += lines
	r.stats.Lines += lines
	if before == 0 && r.options.Sink != nil {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// write writes buffers to the sink until the recorder is closed.
func (r *Recorder) write() {
	defer close(r.stopped)
	for {
		<-r.wake
		r.mu.Lock()
		r.swap()
		chunk, headers, closed := r.older, r.headers(), r.closed
		r.mu.Unlock()
		n, err := r.options.Sink.Write(headers, chunk)
		r.mu.Lock()
		r.lost(chunk[n:])
		r.fail(err)
		r.mu.Unlock()
		if err == nil && closed {
			_, err = r.options.Sink.Write(headers, r.footer())
		}
		if closed {
			err = errors.Join(err, r.options.Sink.Close())
			r.mu.Lock()
			r.fail(err)
			r.mu.Unlock()
		}
		if closed {
			return
		}
	}
}

// lost counts lines as lost that were recorded and not written. The caller holds the lock.
func (r *Recorder) lost(lines []byte) {
	s := &r.stats
	for line := range bytes.Lines(lines) {
		s.Lines--
		if _, isCall := idOf(line); isCall {
			s.Calls--
			s.LostCalls++
		} else {
			s.LostLines++
		}
	}
}

// fail keeps the first error of the sink. The caller holds the lock.
func (r *Recorder) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// headers returns the headers of the policies as they were before the first line of the
// older buffer. The caller holds the lock.
func (r *Recorder) headers() (all []byte) {
	for _, p := range r.pipes {
		if p.older.body != nil {
			all = p.header(p.older).Append(all)
		}
	}
	return all
}

func (r *Recorder) footer() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.appendEnd(nil)
}

// appendEnd appends the last line. The caller holds the lock.
func (r *Recorder) appendEnd(dst []byte) []byte {
	s := &r.stats
	end := trace.End{
		Version: trace.Version, End: time.Duration(r.end).String(),
		Calls: s.Calls, Lines: s.Lines, LostCalls: s.LostCalls, LostLines: s.LostLines,
	}
	return end.Append(dst)
}

// Close ends the recording at a mark. It waits until the sink has what was recorded, and
// returns the first error of the sink.
func (r *Recorder) Close(at clock.Mark) error {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		r.end = max(r.end, r.mark(at))
		if r.options.Sink != nil {
			select {
			case r.wake <- struct{}{}:
			default:
			}
		}
	}
	r.mu.Unlock()
	<-r.stopped
	return r.Err()
}

// Err returns the first error of the sink.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Stats returns the counts so far.
func (r *Recorder) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// mark returns a mark of the clock as one of the trace.
func (r *Recorder) mark(at clock.Mark) clock.Mark {
	return max(0, clock.Mark(at.Sub(r.options.Origin)))
}

// WriteTo writes what a recorder without a sink keeps: headers, the lines of the calls whose
// beginning is kept, and a last line. The recording continues.
func (r *Recorder) WriteTo(w io.Writer) (int64, error) {
	r.mu.Lock()
	all := r.headers()
	if all == nil {
		// Nothing was overwritten, and the older buffer is empty.
		for _, p := range r.pipes {
			if p.current.body != nil {
				all = p.header(p.current).Append(all)
			}
		}
	}
	lines := append(bytes.Clone(r.older), r.current...)
	last := r.appendEnd(nil)
	r.mu.Unlock()
	all = append(append(all, whole(lines)...), last...)
	n, err := w.Write(all)
	return int64(n), err
}

// whole returns the lines without lines of calls whose event call is missing.
func whole(lines []byte) []byte {
	begun := map[string]bool{}
	kept := lines[:0]
	for line := range bytes.Lines(lines) {
		id, isCall := idOf(line)
		if isCall {
			begun[string(id)] = true
		}
		if isCall || id == nil || begun[string(id)] {
			kept = append(kept, line...)
		}
	}
	return kept
}

var (
	idField  = []byte(`,"id":`)
	callHead = []byte(`,"op":"call",`)
)

// idOf returns the id of a line's call, nil for a line that belongs to the policy.
func idOf(line []byte) (id []byte, isCall bool) {
	i := bytes.Index(line, idField)
	if i < 0 {
		return nil, false
	}
	isCall = bytes.HasSuffix(line[:i+1], callHead)
	rest := line[i+len(idField):]
	end := bytes.IndexAny(rest, ",}")
	if end < 0 || bytes.HasPrefix(rest, []byte(`"`)) && bytes.IndexByte(rest[:end], '/') < 0 {
		return nil, false // a tick or a configure of a policy of several
	}
	return rest[:end], isCall
}
