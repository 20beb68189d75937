package sluice

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/internal/recording"
	"github.com/sluice-go/sluice/internal/runner"
)

const (
	// DefaultTraceBuffer is the size of a trace's buffer in bytes.
	DefaultTraceBuffer = recording.DefaultBuffer
	// DefaultTraceBytes is the size of a file of a trace in bytes.
	DefaultTraceBytes = 64 << 20
)

// minTraceBuffer has room for some lines of requests with long attributes.
const minTraceBuffer = 16 << 10

// maxTraceBuffer is far beyond what a trace in memory needs.
const maxTraceBuffer = 1 << 30

// Redact says which values of a trace are replaced by hashes. Equal values have equal
// hashes in one trace, so that the steps of a policy decide the same; the key of the
// hashes is not kept.
type Redact uint8

// What is replaced.
const (
	// RedactSecrets replaces the values of attributes that are likely to be secrets: all
	// of cookie:NAME, the headers Authorization, Proxy-Authorization and Cookie, and
	// headers and query parameters whose names have a word such as token, secret,
	// password, session or api-key. It is the default.
	RedactSecrets = Redact(recording.RedactSecrets)
	// RedactAll replaces the keys and the values of all attributes.
	RedactAll = Redact(recording.RedactAll)
	// RedactNone replaces nothing.
	RedactNone = Redact(recording.RedactNone)
)

// String returns secrets, all or none.
func (r Redact) String() string {
	if r > RedactNone {
		return fmt.Sprintf("Redact(%d)", uint8(r))
	}
	return recording.Redact(r).String()
}

// TraceOptions say what a trace records and where to. The zero value keeps the latest
// lines of all calls in memory.
type TraceOptions struct {
	// Writer receives the trace, in writes of whole lines on a goroutine of its own.
	// Where it is slower than the calls, lines are lost and counted; no call waits for it.
	// nil: memory, or File.
	Writer io.Writer
	// File is the name of a file. One that is there is replaced, or with Rotate treated as a
	// full one. Empty: memory, or Writer.
	File string
	// MaxBytes bounds what is written to Writer, or the size of File. 0 means no bound
	// for a Writer and DefaultTraceBytes for a File.
	MaxBytes int64
	// Rotate is how many full files are kept, as File.1, File.2 and so on, the latest
	// first. 0: a full file ends the trace with ErrTraceFull.
	Rotate int
	// Buffer is the size in bytes of each of two buffers. In memory, at least the latest
	// Buffer bytes of lines are kept. 0 means DefaultTraceBuffer; at least 16 KiB, at most 1 GiB.
	Buffer int
	// Sample is the share of the keys whose calls are recorded, above 0 and up to 1: all
	// calls of a key or none, the same keys in every process. 0 means 1.
	Sample float64
	// SampleBy are the attributes that make the key, as in the setting per. Empty: the
	// attributes of the outermost step with per, or "key" where there is none. Calls without a
	// value are sampled one by one.
	SampleBy []string
	// Attributes are recorded beside those by which the steps of the policy have cells,
	// for a replay under a policy that uses others.
	Attributes []string
	// Redact says which values are replaced by hashes.
	Redact Redact
}

// ErrTraced is the error of a second trace at the same time.
var ErrTraced = errors.New("sluice: the policy is traced already")

// ErrTraceFull is the error of a trace that has written MaxBytes.
var ErrTraceFull = recording.ErrFull

// TraceStats counts what a trace has recorded.
type TraceStats struct {
	// Calls and Lines that were recorded, headers not counted.
	Calls, Lines uint64
	// LostCalls are missing altogether, and LostLines are missing of other calls, because
	// the writer was too slow, failed, or had MaxBytes.
	LostCalls, LostLines uint64
	// Overwritten is how many lines newer ones have replaced in memory.
	Overwritten uint64
}

// Trace records what calls do, in the format of docs/trace.md. Its methods are safe for
// concurrent use.
type Trace struct {
	recorder *recording.Recorder
	memory   bool
	now      func() clock.Mark
	detach   func()
}

// Trace starts to record the calls of the pipeline that begin from now on, until
// Trace.Stop. A pipeline has one trace at a time: a second one is ErrTraced.
func (p *Pipeline) Trace(o TraceOptions) (*Trace, error) {
	if err := p.Err(); err != nil {
		return nil, err
	}
	t, err := newTrace(&o, false, p.engine.Settings)
	if err != nil {
		return nil, err
	}
	if !p.engine.Trace(t.recorder, false) {
		return nil, errors.Join(ErrTraced, t.recorder.Close(t.now()))
	}
	t.detach = func() { p.engine.Untrace(t.recorder) }
	t.recorder.Begin()
	return t, nil
}

// Traced reports whether the calls of the pipeline are recorded.
func (p *Pipeline) Traced() bool { return p.Err() == nil && p.engine.Traced() }

// Trace starts to record the calls of all policies of the set that begin from now on, until
// Trace.Stop. Policies of later documents are included. The ids of the lines begin with the
// name of the policy. A set has one trace at a time, and none while one of its pipelines has
// its own: a second one is ErrTraced.
func (s *Set) Trace(o TraceOptions) (*Trace, error) {
	t, err := newTrace(&o, true, &applied(s.options).Settings)
	if err != nil {
		return nil, err
	}
	s.change.Lock()
	defer s.change.Unlock()
	var traced []*Pipeline
	detach := func() {
		for _, p := range traced {
			p.engine.Untrace(t.recorder)
		}
	}
	taken := s.trace != nil
	for x := range s.members() {
		p := x.pipeline
		if taken = taken || !p.engine.Trace(t.recorder, false); taken {
			break
		}
		traced = append(traced, p)
	}
	if taken {
		detach()
		return nil, errors.Join(ErrTraced, t.recorder.Close(t.now()))
	}
	t.detach = func() {
		s.change.Lock()
		defer s.change.Unlock()
		if s.trace == t {
			s.trace = nil
			for x := range s.members() {
				x.pipeline.engine.Untrace(t.recorder)
			}
		}
	}
	s.trace = t
	t.recorder.Begin()
	return t, nil
}

// newTrace checks the options and returns a trace that nothing uses.
func newTrace(o *TraceOptions, prefixed bool, s *runner.Settings) (*Trace, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	options := recording.Options{
		Buffer: o.Buffer, Sample: o.Sample, By: o.SampleBy, Attributes: o.Attributes, Redact: recording.Redact(o.Redact),
		Prefixed: prefixed, Origin: s.Now(),
	}
	options.Began = time.Unix(0, int64(s.Epoch())+int64(options.Origin))
	if options.Buffer == 0 {
		options.Buffer = DefaultTraceBuffer
	}
	if options.Sample == 0 {
		options.Sample = 1
	}
	switch {
	case o.Writer != nil:
		options.Sink = recording.ToWriter(o.Writer, o.MaxBytes)
	case o.File != "":
		most := o.MaxBytes
		if most == 0 {
			most = DefaultTraceBytes
		}
		var err error
		if options.Sink, err = recording.ToFile(o.File, most, o.Rotate); err != nil {
			return nil, err
		}
	}
	return &Trace{recorder: recording.New(options), memory: options.Sink == nil, now: s.Now}, nil
}

// check returns what is wrong with the options.
func (o *TraceOptions) check() error {
	switch {
	case o.Writer != nil && o.File != "":
		return errors.New("sluice: TraceOptions: Writer and File are both set; allowed: one of them")
	case o.Writer == nil && o.File == "" && o.MaxBytes != 0:
		return errors.New("sluice: TraceOptions.MaxBytes has no effect without Writer or File")
	case o.Rotate != 0 && o.File == "":
		return errors.New("sluice: TraceOptions.Rotate has no effect without File")
	case o.Rotate < 0:
		return fmt.Errorf("sluice: TraceOptions.Rotate is %d; allowed: 0 or more", o.Rotate)
	case o.MaxBytes < 0:
		return fmt.Errorf("sluice: TraceOptions.MaxBytes is %d; allowed: 0 or more", o.MaxBytes)
	case o.Buffer != 0 && o.Buffer < minTraceBuffer:
		return fmt.Errorf("sluice: TraceOptions.Buffer is %d; allowed: at least %d, 0 for %d", o.Buffer, minTraceBuffer, DefaultTraceBuffer)
	case o.Buffer > maxTraceBuffer:
		return fmt.Errorf("sluice: TraceOptions.Buffer is %d; allowed: at most %d", o.Buffer, maxTraceBuffer)
	case !(o.Sample >= 0 && o.Sample <= 1):
		return fmt.Errorf("sluice: TraceOptions.Sample is %v; allowed: 0 to 1", o.Sample)
	case o.Redact > RedactNone:
		return fmt.Errorf("sluice: TraceOptions.Redact is %d; allowed: RedactSecrets, RedactAll, RedactNone", o.Redact)
	}
	return nil
}

// Stop ends the trace. It waits until the writer has received what was recorded, and
// returns the first error of the writer or the file. Later calls return the same.
func (t *Trace) Stop() error {
	t.detach()
	return t.recorder.Close(t.now())
}

// Err returns the first error of the writer or the file so far.
func (t *Trace) Err() error { return t.recorder.Err() }

// Stats returns the counts so far.
func (t *Trace) Stats() TraceStats { return TraceStats(t.recorder.Stats()) }

// errNotKept is the error of WriteTo for a trace whose lines are elsewhere.
var errNotKept = errors.New("sluice: the lines of the trace are in its writer or its file, not in memory")

// WriteTo writes the trace that is kept in memory, during the trace or after it: the
// headers, the lines of the calls whose beginning is still kept, and the counts. It
// implements io.WriterTo.
func (t *Trace) WriteTo(w io.Writer) (int64, error) {
	if !t.memory {
		return 0, errNotKept
	}
	return t.recorder.WriteTo(w)
}
