package scenario

import (
	"strconv"
	"time"

	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/policy/tree"
	"github.com/sluice-go/sluice/sim/random"
)

const (
	distNames = "constant exponential uniform lognormal pareto erlang hyperexponential"
	distText  = "one of {constant: d}, {exponential: mean}, {uniform: [a, b]}, {lognormal: {median: d, sigma: x}}, {pareto: {scale: d, shape: x}}, {erlang: {mean: d, k: n}} or {hyperexponential: [[w, mean], ...]}"
)

// quantity reads a value of a distribution: a duration, or a plain number.
type quantity func(n *tree.Node, least int64) float64

// nanoseconds is the quantity of times.
func (r *reader) nanoseconds(n *tree.Node, least int64) float64 {
	d, _ := r.Duration(n, time.Duration(least))
	return float64(d)
}

// permits is the quantity of costs.
func (r *reader) permits(n *tree.Node, least int64) float64 {
	i, _ := r.Integer(n, int(least), 1<<31-1)
	return float64(i)
}

// times reads a distribution of durations.
func (r *reader) times(n *tree.Node) Dist { return r.dist(n, r.nanoseconds) }

// timesOr is times for an entry that may be absent.
func (r *reader) timesOr(f *document.Fields, name string, standard Dist) Dist {
	if n := f.Get(name); n != nil {
		return r.times(n)
	}
	return standard
}

// dist reads a distribution. A plain quantity is a constant.
func (r *reader) dist(n *tree.Node, value quantity) (d Dist) {
	if n.Kind == tree.Text || n.Kind == tree.Number {
		return ConstantOf(value(n, 0))
	}
	f := r.Fields(n, distText, distNames)
	if f == nil {
		return d
	}
	e := f.OneOf(distNames, distText)
	if e == nil {
		return d
	}
	switch e.Key {
	case "constant":
		d = ConstantOf(value(e, 0))
	case "exponential":
		d = Dist{Kind: Exponential, A: value(e, 1)}
	case "uniform":
		r.uniform(e, value, &d)
	case "lognormal":
		if m, x := r.pair(e, "median", "sigma"); m != nil && x != nil {
			d = Dist{Kind: Lognormal, A: value(m, 1), B: r.number(x, 0, 10, "a number from 0 to 10, the standard deviation of the logarithm")}
		}
	case "pareto":
		if m, x := r.pair(e, "scale", "shape"); m != nil && x != nil {
			d = Dist{Kind: Pareto, A: value(m, 1), B: r.number(x, 0.01, 1000, "a number from 0.01 to 1000; the mean is finite above 1")}
		}
	case "erlang":
		if m, x := r.pair(e, "mean", "k"); m != nil && x != nil {
			d = Dist{Kind: Erlang, A: value(m, 1)}
			d.K, _ = r.Integer(x, 1, 1000)
		}
	case "hyperexponential":
		r.hyperexponential(e, value, &d)
	}
	return d
}

// pair reads a map of two entries.
func (r *reader) pair(n *tree.Node, first, second string) (a, b *tree.Node) {
	f := r.Fields(n, "a map of "+first+" and "+second, first+" "+second)
	if f == nil {
		return nil, nil
	}
	return f.Need(first, "a value"), f.Need(second, "a number")
}

func (r *reader) uniform(n *tree.Node, value quantity, d *Dist) {
	if n.Kind != tree.List || len(n.Items) != 2 {
		r.Fail(n, "a list of the least and the greatest value, as in [10ms, 30ms]")
		return
	}
	*d = Dist{Kind: UniformDist, A: value(n.Items[0], 0), B: value(n.Items[1], 0)}
	if d.B < d.A {
		r.Fail(n.Items[1], "at least the value before it")
	}
}

func (r *reader) hyperexponential(n *tree.Node, value quantity, d *Dist) {
	const allowed = "a list of pairs of a weight and a mean, as in [[9, 10ms], [1, 200ms]]"
	if n.Kind != tree.List || len(n.Items) == 0 || len(n.Items) > 100 {
		r.Fail(n, allowed)
		return
	}
	var weights []float64
	*d = Dist{Kind: Hyperexponential}
	for _, item := range n.Items {
		if item.Kind != tree.List || len(item.Items) != 2 {
			r.Fail(item, "a pair of a weight and a mean, as in [9, 10ms]")
			continue
		}
		weights = append(weights, r.weight(item.Items[0]))
		d.Means = append(d.Means, value(item.Items[1], 1))
	}
	if len(weights) > 0 {
		d.Table = random.NewTable(weights)
	}
}

// weight reads a plain number above 0.
func (r *reader) weight(n *tree.Node) float64 {
	return r.number(n, 1e-9, 1e9, "a weight, a number above 0")
}

const valuesText = "one of {uniform: n}, {zipf: {n: 1000, s: 1.1}} or {weights: {gold: 1, free: 9}}"

// values reads how a text is drawn. A plain text is always the same.
func (r *reader) values(n *tree.Node) (v Values) {
	if n.Kind == tree.Text {
		return Values{Names: []string{n.Text}, Count: 1}
	}
	f := r.Fields(n, "a text, or "+valuesText, "uniform zipf weights")
	if f == nil {
		return v
	}
	e := f.OneOf("uniform zipf weights", valuesText)
	if e == nil {
		return v
	}
	switch e.Key {
	case "uniform":
		count, _ := r.Integer(e, 1, MaxValues)
		return Values{Count: int(count)}
	case "zipf":
		m, x := r.pair(e, "n", "s")
		if m == nil || x == nil {
			return v
		}
		count, ok := r.Integer(m, 1, MaxValues)
		s := r.number(x, 0, 10, "a number from 0 to 10, the exponent of the law")
		if ok {
			v = Values{Count: int(count), Table: random.NewTable(random.Zipf(int(count), s))}
		}
		return v
	}
	return r.weighted(e)
}

// weighted reads a map of values and their weights.
func (r *reader) weighted(e *tree.Node) (v Values) {
	if e.Kind != tree.Map || len(e.Items) == 0 || len(e.Items) > MaxValues {
		r.Fail(e, "a map of values and their weights, as in {gold: 1, free: 9}")
		return v
	}
	var weights []float64
	for _, item := range e.Items {
		v.Names = append(v.Names, item.Key)
		weights = append(weights, r.weight(item))
	}
	v.Count, v.Table = len(weights), random.NewTable(weights)
	return v
}

// Value returns the text of an index.
func (v *Values) Value(i int) string {
	if v.Names != nil {
		return v.Names[i]
	}
	return "k" + strconv.Itoa(i+1)
}

// Draw returns the index of a value.
func (v *Values) Draw(s *random.Stream) int {
	if v.Table == nil {
		return int(s.Below(uint64(v.Count)))
	}
	return v.Table.Draw(s)
}
