// Package eval decides a log of events in virtual time, as `sluice eval` does:
// each line of input is an event, each line of output a decision. The same
// input gives the same bytes.
package eval

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/trace"
)

// Options of a run.
type Options struct {
	// Seed of all jitter.
	Seed uint64
	// Follow writes the decisions of a line before the next one is read.
	Follow bool
	// Epoch is the wall time of mark 0 since 1970, 0 or more, for windows of the calendar:
	// of a trace, its began. Default: mark 0 is 1970-01-01T00:00:00Z.
	Epoch time.Duration
	// State adds a line of text of the deciding step.
	State bool
	// Steps receives a line for each step of a cell, see reducer.AppendTrace. nil for
	// none.
	Steps io.Writer
}

// LineError says which line of input could not be read and why. The decisions of the
// lines before it have been written.
type LineError struct {
	Line int
	Err  error
}

// Error implements error, as in "line 12: op: found ...". The errors of a policy
// have a line each.
func (e *LineError) Error() string {
	place := fmt.Sprintf("line %d: ", e.Line)
	return place + strings.ReplaceAll(e.Err.Error(), "\n", "\n"+place)
}

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// Run reads events from in until its end and writes decisions to out. The error is a LineError,
// the error of the policy, or the error of a reader or writer.
func Run(p pipeline.Policy, o Options, in io.Reader, out io.Writer) error {
	n := &native{epoch: o.Epoch}
	plan, err := n.compiled(p)
	if err != nil {
		return err
	}
	n.driver = drive.New(plan, o.Seed)
	n.drivers = []*drive.Driver{n.driver}
	return decide(n, nil, o, in, out)
}

// RunAll is Run for several policies, whose steps share the mechanisms of one name. The id of a
// call is a text that begins with the name of its policy and a slash. The id of a configure is
// the name, as in the trace of a set.
func RunAll(policies []pipeline.Policy, o Options, in io.Reader, out io.Writer) error {
	n := &native{epoch: o.Epoch}
	var names []string
	for _, p := range policies {
		plan, err := n.compiled(p)
		if err != nil {
			return err
		}
		d := n.driver
		if d == nil {
			d = drive.New(plan, o.Seed)
			n.driver = d
		} else {
			d = d.Join(plan, o.Seed)
		}
		names, n.drivers = append(names, p.Name), append(n.drivers, d)
	}
	if n.driver == nil {
		return ErrNoPolicies
	}
	return decide(n, names, o, in, out)
}

// ErrNoPolicies says that there is no policy to decide by.
var ErrNoPolicies = errors.New("no policies")

// decide decides a log by the core of this program.
func decide(n *native, names []string, o Options, in io.Reader, out io.Writer) error {
	if o.State {
		n.driver.Describe = cell.Text
	}
	if o.Steps == nil {
		return Play(n, names, o.Follow, in, out)
	}
	s := steps{out: bufio.NewWriterSize(o.Steps, 1<<16), keys: &n.keys}
	n.driver.Steps = s.write
	return errors.Join(Play(n, names, o.Follow, in, out), s.out.Flush())
}

// Play decides the events of a log by a decider. names are the names of several policies, nil
// for one. With follow the decisions of a line are written before the next one is read.
func Play(d Decider, names []string, follow bool, in io.Reader, out io.Writer) error {
	r := &run{decider: d, names: names, live: map[string]decision.Handle{}, out: bufio.NewWriterSize(out, 1<<16)}
	err := r.all(bufio.NewReaderSize(in, 1<<16), follow)
	if flushed := r.out.Flush(); err == nil {
		err = flushed
	}
	return err
}

// run is the state of a log that is played.
type run struct {
	decider Decider
	names   []string // of several policies, by the number of the driver
	live    map[string]decision.Handle
	ids     []string // by slot
	now     clock.Mark
	// The present event, here so that it is not allocated, and what activates the policy of a configure.
	event     trace.Event
	configure func() error
	out       *bufio.Writer
	text      []byte
}

func (r *run) all(in *bufio.Reader, follow bool) error {
	var long []byte
	for n := 1; ; n++ {
		src, err := next(in, &long)
		if n == 1 {
			// A byte order mark is no part of the first line, as in a document.
			src = bytes.TrimPrefix(src, []byte("\ufeff"))
		}
		if len(bytes.TrimSpace(src)) > 0 {
			if err := r.read(src); err != nil {
				return &LineError{Line: n, Err: err}
			}
			if err := r.decide(&r.event, n); err != nil {
				return err
			}
			if follow {
				if err := r.out.Flush(); err != nil {
					return err
				}
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, bufio.ErrTooLong):
			return &LineError{Line: n, Err: fmt.Errorf("longer than %d bytes", trace.MaxLine)}
		case err != nil:
			return err
		}
	}
}

// read reads the event of a line and compiles the policy of a configure.
func (r *run) read(src []byte) (err error) {
	if r.event, err = trace.ReadEvent(src); err == nil && r.event.Op == "configure" {
		var policy int
		if policy, err = r.policy(r.event.ID); err == nil {
			r.configure, err = r.decider.Compile(policy, r.event.Policy)
		}
	}
	return err
}

// policy returns the number of the policy that an id names, alone or before a slash. Without
// names there is one.
func (r *run) policy(id string) (int, error) {
	if r.names == nil {
		return 0, nil
	}
	name, _, _ := strings.Cut(strings.Trim(id, `"`), "/")
	if i := slices.Index(r.names, name); i >= 0 && id[0] == '"' {
		return i, nil
	}
	if id == "" {
		id = "nothing"
	}
	return 0, fmt.Errorf("id: found %s; allowed: one that begins with the name of its policy and a slash: %s", id, strings.Join(r.names, ", "))
}

// next returns a line; a long one is put together in the buffer.
func next(in *bufio.Reader, long *[]byte) ([]byte, error) {
	src, err := in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return src, err
	}
	*long = (*long)[:0]
	for errors.Is(err, bufio.ErrBufferFull) {
		if *long = append(*long, src...); len(*long) > trace.MaxLine {
			return nil, bufio.ErrTooLong
		}
		src, err = in.ReadSlice('\n')
	}
	*long = append(*long, src...)
	return *long, err
}

// decide decides one event, the event of line n. The error is a LineError or the error of the
// writer.
func (r *run) decide(e *trace.Event, n int) error {
	r.now = max(r.now, e.At)
	if err := r.decider.Advance(r.now); err != nil {
		return &LineError{Line: n, Err: err}
	}
	if err := r.write(); err != nil {
		return err
	}
	handle, live := r.live[e.ID]
	var err error
	switch e.Op {
	case "call":
		if live {
			return &LineError{Line: n, Err: fmt.Errorf("id: a call %s is not over", e.ID)}
		}
		err = r.begin(e)
	case "done":
		if live {
			live, err = r.decider.Done(handle, e)
		}
	case "cancel":
		if live {
			live, err = r.decider.Cancel(handle)
		}
	case "renew":
		if live {
			live, err = r.decider.Renew(handle, e)
		}
	case "configure":
		err = r.configure()
	}
	switch {
	case err != nil:
		return &LineError{Line: n, Err: err}
	case e.Op == "tick" || e.Op == "configure" || e.Op == "call" || live:
		return r.write()
	}
	return r.stale(e.ID)
}

// begin starts a call. Decisions find its id by its slot, which a call that is over
// may have used before. Where the call is over at once, its last decision removes it
// from the live calls.
func (r *run) begin(e *trace.Event) error {
	policy, err := r.policy(e.ID)
	if err != nil {
		return err
	}
	handle, err := r.decider.Begin(policy, e)
	if err != nil {
		return err
	}
	for int(handle.Slot()) >= len(r.ids) {
		r.ids = append(r.ids, "")
	}
	r.ids[handle.Slot()] = e.ID
	r.live[e.ID] = handle
	return nil
}
