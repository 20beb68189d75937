package lanes

import (
	"slices"
	"time"

	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/sim/engine"
)

// breakers returns the rows of the breakers without keys that changed.
func breakers(r *engine.Result, changes []engine.BreakerChange) Lane {
	l := Lane{ID: "breakers", Title: "Breakers", Form: States}
	for _, c := range changes {
		if c.Key != 0 {
			continue
		}
		i := slices.IndexFunc(l.Rows, func(row Row) bool { return row.Name == c.Step })
		if i < 0 {
			i = len(l.Rows)
			l.Rows = append(l.Rows, Row{Name: c.Step, Spans: []Span{{0, r.Duration, breaker.Closed.String()}}})
		}
		row := &l.Rows[i]
		last := &row.Spans[len(row.Spans)-1]
		last.To = time.Duration(c.At)
		row.Spans = append(row.Spans, Span{last.To, r.Duration, c.Mode.String()})
	}
	return l
}

// openKeys counts, for the breakers with keys, the keys whose breaker is not closed at
// the end of each part.
func openKeys(r *engine.Result, changes []engine.BreakerChange) Lane {
	l := Lane{ID: "keys", Title: "Keys whose breaker is open or half-open", Form: Lines}
	type cell struct {
		step string
		key  uint32
	}
	open := map[cell]bool{}
	count := map[string]int{}
	from := map[string]int{} // part from which on the count holds
	for _, c := range changes {
		one := cell{c.Step, c.Key}
		now := c.Mode != breaker.Closed
		if c.Key == 0 || open[one] == now {
			continue
		}
		open[one] = now
		i := slices.IndexFunc(l.Series, func(s Series) bool { return s.Name == c.Step })
		if i < 0 {
			i = len(l.Series)
			l.Series = append(l.Series, Series{c.Step, reason(i), make([]float64, r.Timeline.Parts)})
		}
		part := min(int(time.Duration(c.At)/r.Timeline.Width), r.Timeline.Parts-1)
		fill(l.Series[i].Values[from[c.Step]:part], count[c.Step])
		from[c.Step] = part
		if now {
			count[c.Step]++
		} else {
			count[c.Step]--
		}
	}
	for i := range l.Series {
		name := l.Series[i].Name
		fill(l.Series[i].Values[from[name]:], count[name])
	}
	return l
}

func fill(values []float64, n int) {
	for i := range values {
		values[i] = float64(n)
	}
}
