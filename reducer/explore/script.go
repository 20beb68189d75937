package explore

import (
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/clock"
)

// Script says how a path is written: as a line that makes the machine, and a
// table of what happens, what is answered, and the state after it. Functions
// that are nil leave their column empty.
type Script[S, A, E any] struct {
	// New makes the machine, as in "concurrent=2 queue=1".
	New string
	// Action appends what happens, as in "acquire id=1".
	Action func(dst []byte, action A) []byte
	// Effects appends what is answered, and what happens to others.
	Effects func(dst []byte, action A, effects E) []byte
	// State appends the state in a line.
	State func(dst []byte, state S, now clock.Mark) []byte
}

// Violation says which invariant does not hold, and how to get there.
type Violation struct {
	// Invariant is the name of the rule.
	Invariant string
	// Err is what it says.
	Err error
	// Steps is the length of the path; no shorter one breaks an invariant.
	Steps int
	// Script is the path, to be kept and run.
	Script string
}

// Error implements error: what is wrong, and the script.
func (v *Violation) Error() string {
	return v.Invariant + " does not hold after " + strconv.Itoa(v.Steps) + " steps: " + v.Err.Error() + "\n\n" + v.Script
}

// Unwrap returns what the invariant said.
func (v *Violation) Unwrap() error { return v.Err }

// violation writes the path that ends with the step.
func (r *run[S, A, E]) violation(name string, err error, last step[A]) error {
	var path []step[A]
	for last.before >= 0 {
		path = append(path, last)
		last = r.steps[last.before]
	}
	v := &Violation{Invariant: name, Err: err, Steps: len(path)}
	said := strings.Join(strings.Fields(name+": "+err.Error()), " ")
	v.Script = "# " + said + "\n" + r.script(path)
	return v
}

// script takes the path once more, last step first, and writes it down.
func (r *run[S, A, E]) script(path []step[A]) string {
	m := r.model
	state, now := m.Machine.Init(m.Start), m.Start
	head := "new"
	if m.Script.New != "" {
		head += " " + m.Script.New
	}
	if m.Start != 0 {
		head += " at=" + MarkText(m.Start)
	}
	text := head + "\n----\n" + r.line(state, now) + "\n"
	if len(path) == 0 {
		return text
	}
	var lines string
	rows := make([][3]string, 0, len(path))
	for i := len(path) - 1; i >= 0; i-- {
		action, at := path[i].action, path[i].at
		next, effects := m.Machine.Reduce(state, action, at)
		row := [3]string{MarkText(at) + " " + written(m.Script.Action, action), "", ""}
		if m.Script.Effects != nil {
			row[1] = string(m.Script.Effects(nil, action, effects))
		}
		row[2] = r.line(next, at)
		state = next
		lines += row[0] + "\n"
		rows = append(rows, row)
	}
	return text + "\nrun\n" + lines + "----\n" + Table(rows)
}

func written[A any](write func([]byte, A) []byte, action A) string {
	if write == nil {
		return "?"
	}
	return string(write(nil, action))
}

// line shows the state and the next wake.
func (r *run[S, A, E]) line(state S, now clock.Mark) string {
	var text []byte
	if show := r.model.Script.State; show != nil {
		text = show(text, state, now)
	}
	if at, ok := r.model.Machine.NextWake(state); ok {
		text = append(append(text, ", wake "...), MarkText(at)...)
	}
	return string(text)
}

// MarkText writes a mark as scripts do: one near an end counts from it.
func MarkText(m clock.Mark) string {
	const near = clock.Never - clock.Mark(1000*time.Hour)
	switch {
	case m > near && m != clock.Never:
		return "never-" + clock.Never.Sub(m).String()
	case m < -near && m != clock.Always:
		return "always+" + m.Sub(clock.Always).String()
	}
	return m.String()
}

// widest is the greatest width of a column; longer rows exceed it.
const widest = 48

// Table writes the rows of a script's table: the action, the answer, and the state
// after it.
func Table(rows [][3]string) string {
	var width [2]int
	for _, row := range rows {
		for i := range width {
			width[i] = max(width[i], min(len(row[i]), widest))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for i := range width {
			b.WriteString(row[i])
			b.WriteString(strings.Repeat(" ", max(0, width[i]-len(row[i]))+2))
		}
		b.WriteString(row[2])
		b.WriteString("\n")
	}
	return b.String()
}
