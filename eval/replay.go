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
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/trace"
)

// Replayed counts the steps that Replay took as they were recorded.
type Replayed struct {
	Steps uint64
	Cells int // that took them
	// Anew is how often the cell of a key began anew, because the recorded one had been evicted.
	Anew int
}

// Difference is a step that comes to another result than the recorded one.
type Difference struct {
	Recorded reducer.Entry
	// Replayed is the step as the cell takes it.
	Replayed reducer.Entry
	// State is the one-line form of the state after it.
	State string
}

// Error implements error.
func (d *Difference) Error() string {
	what := d.Recorded.Cell
	if d.Recorded.Key != "" {
		what += " of key " + fmt.Sprintf("%q", d.Recorded.Key)
	}
	what += " at " + d.Recorded.At.String() + ", " + d.Recorded.Action.String() + ": "
	if was, is := d.Recorded.Effects.String(), d.Replayed.Effects.String(); was != is {
		return what + "recorded " + was + "; replayed " + is
	}
	return fmt.Sprintf("%srecorded the state %016x; replayed %016x, %s", what, d.Recorded.Digest, d.Replayed.Digest, d.State)
}

// Replay takes the steps that Run or RunAll wrote to Options.Steps again, in new cells of the
// policies, up to the first that differs. The steps of some cells are enough. The error is a
// LineError: its cause is a *Difference, or says why a line is no step of the policies; or it is the error of a
// policy or of the reader. Cells that a configure of the log changed differ from then on, because
// the steps do not have the policy. Neither do they say which key was evicted: a cell whose step differs begins anew
// where that agrees, so that steps of a policy whose `keys` were all taken may differ for that reason.
func Replay(policies []pipeline.Policy, o Options, steps io.Reader) (Replayed, error) {
	r := replay{makers: map[string][]source{}, cells: map[address]cell.Cell{}}
	for _, p := range policies {
		plan, err := pipeline.Compile(p.WithEpoch(func() time.Duration { return max(0, o.Epoch) }))
		if err != nil {
			return Replayed{}, err
		}
		r.add(plan, len(policies) > 1)
	}
	if len(policies) == 0 {
		return Replayed{}, ErrNoPolicies
	}
	in, long := bufio.NewReaderSize(steps, 1<<16), []byte(nil)
	for n := 1; ; n++ {
		src, err := next(in, &long)
		switch {
		case errors.Is(err, bufio.ErrTooLong):
			return r.done, &LineError{Line: n, Err: fmt.Errorf("longer than %d bytes", trace.MaxLine)}
		case err != nil && !errors.Is(err, io.EOF):
			return r.done, err
		}
		if src = bytes.TrimRight(src, "\r\n"); len(src) > 0 {
			if wrong := r.line(string(src)); wrong != nil {
				return r.done, &LineError{Line: n, Err: wrong}
			}
		}
		if err != nil {
			return r.done, nil
		}
	}
}

// replay has the cells that steps are taken in.
type replay struct {
	makers map[string][]source // by the names of cells
	cells  map[address]cell.Cell
	number uint64 // of the last step
	done   Replayed
}

// source makes the cells of a name. Mechanisms of one name that steps of several kinds or keys share
// have several.
type source struct {
	cell.Maker
	keyed bool
}

// address names one cell.
type address struct{ cell, key string }

// add adds the cells of a policy, by the names that a driver gives them.
func (r *replay) add(plan *pipeline.Plan, several bool) {
	for i := range plan.Len() {
		made := source{plan.Maker(i), len(plan.Per(i)) > 0}
		if made.Maker == nil {
			continue
		}
		name := plan.StepName(i)
		switch shared := plan.Shares(i); {
		case shared != "":
			name = shared
		case several:
			name = plan.Name() + "/" + name
		}
		r.makers[name] = append(r.makers[name], made)
	}
}

// line takes the step of a line.
func (r *replay) line(text string) error {
	want, err := reducer.ParseTrace(text)
	if err != nil {
		return err
	}
	if want.N <= r.number {
		return fmt.Errorf("n: found %d; allowed: more than %d, the step before", want.N, r.number)
	}
	r.number = want.N
	makers, known := r.makers[want.Cell]
	if !known {
		return fmt.Errorf("cell: found %q; allowed: %s", want.Cell, r.names())
	}
	at := address{want.Cell, want.Key}
	c, found := r.cells[at]
	var difference error
	if found {
		if difference = take(c, &want); difference == nil {
			r.done.Steps++
			return nil
		}
	}
	for _, made := range makers {
		if !made.keyed && (found || want.Key != "") {
			continue
		}
		began := clock.Mark(0) // a cell for all begins with the log
		if made.keyed {
			began = want.At
		}
		c := made.New(began)
		wrong := take(c, &want)
		if wrong == nil {
			r.begin(at, c, found)
			return nil
		}
		if difference == nil {
			difference = wrong
		}
	}
	if difference == nil {
		return fmt.Errorf("key: found %q; allowed: none, all calls have one cell", want.Key)
	}
	return difference
}

// begin counts a step that a new cell took.
func (r *replay) begin(at address, c cell.Cell, anew bool) {
	r.cells[at] = c
	r.done.Steps++
	if anew {
		r.done.Anew++
	} else {
		r.done.Cells++
	}
}

// names lists the names of the cells.
func (r *replay) names() string {
	var all []string
	for name := range r.makers {
		all = append(all, name)
	}
	if len(all) == 0 {
		return "none, no step of the policies has a cell"
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// take takes a step and returns what differs from the recorded one.
func take(c cell.Cell, want *reducer.Entry) error {
	got := *want
	got.Effects = reducer.Effects{}
	got.Effects.Answer = c.Step(want.Action, want.At, &got.Effects.Others)
	got.Digest = reducer.Digest(c.AppendState(nil))
	if got.Digest == want.Digest && got.Effects.String() == want.Effects.String() {
		return nil
	}
	return &Difference{Recorded: *want, Replayed: got, State: cell.Text(c, want.At)}
}
