package replay

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
)

// Column is a result with the name of its policy.
type Column struct {
	Name   string
	Result *Result
}

// Table prints results side by side, with the difference where there are two.
func Table(w io.Writer, columns ...Column) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	outcomes, refusals := outcomes(columns), refusals(columns)
	width := len("waited in a queue")
	for _, of := range refusals {
		width = max(width, len(of.name())+2)
	}
	line := func(name string, cell func(*Result) int) {
		fmt.Fprintf(t, "%-*s\t", width, name)
		for _, c := range columns {
			fmt.Fprintf(t, "%s\t", numbered(cell(c.Result), c.Result.Calls, name))
		}
		if len(columns) == 2 {
			d := strconv.Itoa(cell(columns[1].Result) - cell(columns[0].Result))
			if d[0] != '-' && d != "0" {
				d = "+" + d
			}
			fmt.Fprintf(t, "%s\t", d)
		}
		fmt.Fprintln(t)
	}
	if len(columns) == 2 {
		fmt.Fprintf(t, "\t%s\t%s\tdifference\t\n", columns[0].Name, columns[1].Name)
	}
	line("calls", func(r *Result) int { return r.Calls })
	if slices.ContainsFunc(columns, func(c Column) bool { return c.Result.Unmatched > 0 }) {
		line("without a policy", func(r *Result) int { return r.Unmatched })
	}
	line("admitted", func(r *Result) int { return r.Admitted })
	line("refused", func(r *Result) int { return r.Refused })
	for _, of := range refusals {
		line("  "+of.name(), func(r *Result) int { return r.refused(of) })
	}
	line("waited in a queue", func(r *Result) int { return r.Waited })
	line("attempts", func(r *Result) int { return r.Attempts })
	line("cut by a timeout", func(r *Result) int { return r.Cut })
	for _, outcome := range outcomes {
		line("ended "+outcome, func(r *Result) int { return r.Outcomes[outcome] })
	}
	return t.Flush()
}

// numbered prints a count, and its share of the calls where that says something.
func numbered(n, calls int, name string) string {
	if name == "calls" || name == "attempts" || n == 0 || calls == 0 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d (%.1f %%)", n, 100*float64(n)/float64(calls))
}

func (r Refusal) name() string {
	if r.Policy != "" {
		return r.Policy + " " + r.Step + " " + r.Reason
	}
	return r.Step + " " + r.Reason
}

// refused returns how many calls a step refused for a reason.
func (r *Result) refused(of Refusal) int {
	for _, x := range r.Refusals {
		if x.name() == of.name() {
			return x.Calls
		}
	}
	return 0
}

// refusals returns the refusals of all columns, each once.
func refusals(columns []Column) (all []Refusal) {
	for _, c := range columns {
		for _, x := range c.Result.Refusals {
			if !slices.ContainsFunc(all, func(y Refusal) bool { return x.name() == y.name() }) {
				all = append(all, x)
			}
		}
	}
	return all
}

// outcomes returns the outcomes of all columns in a fixed order.
func outcomes(columns []Column) (all []string) {
	for _, outcome := range []string{"ok", "fail", "throttle", "ignore", "timeout", "cancel"} {
		if slices.ContainsFunc(columns, func(c Column) bool { return c.Result.Outcomes[outcome] > 0 }) {
			all = append(all, outcome)
		}
	}
	return all
}

// Shares prints the keys or the routes with the most refused calls.
func Shares(w io.Writer, title string, list []Share) error {
	list = slices.DeleteFunc(slices.Clone(list), func(s Share) bool { return s.Refused == 0 })
	if len(list) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\n%s\trefused\tof\n", title)
	for _, s := range list {
		fmt.Fprintf(t, "%s\t%d\t%d\n", printable(s.Name), s.Refused, s.Calls)
	}
	return t.Flush()
}

// printable keeps what a client sent from changing the terminal.
func printable(text string) string {
	quoted := strconv.Quote(text)
	if inner := quoted[1 : len(quoted)-1]; inner == text {
		return text
	}
	return quoted
}

// Changes prints a comparison. before and after name its sides.
func Changes(w io.Writer, x *Comparison, before, after string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\n%s, then %s:\n", before, after)
	for _, line := range []struct {
		name string
		n    int
	}{
		{"admitted, then refused", x.NowRefused},
		{"refused, then admitted", x.NowAdmitted},
		{"refused by another step or for another reason", x.OtherStep},
		{"admitted, with another outcome", x.OtherOutcome},
		{"the same", x.Compared - x.NowRefused - x.NowAdmitted - x.OtherStep - x.OtherOutcome},
	} {
		fmt.Fprintf(t, "%-45s\t%d\t\n", line.name, line.n)
	}
	if err := t.Flush(); err != nil || len(x.First) == 0 {
		return err
	}
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "\nfirst differences\tat\tkey\t%s\t%s\n", before, after)
	for _, c := range x.First {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", c.ID, c.At, printable(c.Key), c.From, c.To)
	}
	return t.Flush()
}
