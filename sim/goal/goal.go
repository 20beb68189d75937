// Package goal compares a figure of a simulation's result with a value, as in
// clients.web.latency.p99 < 200ms: for sluice simulate --require, and for searches.
//
// A figure is named by its path in the JSON of a result, see
// sim/REFERENCE.md#the-result. The first name, clients or services, may be left out
// where the rest is unambiguous.
package goal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/sim"
)

// Goal is a condition on a result.
type Goal struct {
	// Text as it was written.
	Text string
	// Path of the figure.
	Path string
	op   string
	// value is a number, of seconds for a duration, of shares for a percentage.
	value float64
	word  string // in place of a number
	// share says that a count is compared as a share of the calls or requests.
	share bool
}

// ops are the comparisons, those that begin with another one first.
var ops = []string{"<=", ">=", "==", "!=", "<", ">", "="}

// Parse reads a goal: a path, a comparison (<, <=, >, >=, ==, !=) and a number, a
// duration as in 200ms, a percentage as in 99%, or for the verdict a word. A percentage
// of a count is a share of the client's calls or of the requests that arrived at the
// service.
func Parse(text string) (Goal, error) {
	g := Goal{Text: strings.TrimSpace(text)}
	at := strings.IndexAny(text, "<>=!")
	if at < 0 {
		return g, fmt.Errorf("%q: found no comparison; allowed: a condition as in verdict==steady, clients.web.ok>=99%% or clients.web.latency.p99<200ms", text)
	}
	g.Path = strings.TrimSpace(text[:at])
	for _, op := range ops {
		if rest, ok := strings.CutPrefix(text[at:], op); ok {
			g.op = op
			return g, g.read(strings.TrimSpace(rest))
		}
	}
	return g, fmt.Errorf("%q: found no comparison; allowed: <, <=, >, >=, == or !=", text)
}

func (g *Goal) read(value string) error {
	switch {
	case g.Path == "":
		return fmt.Errorf("%q: found no path in front of %s", g.Text, g.op)
	case value == "":
		return fmt.Errorf("%q: found no value behind %s", g.Text, g.op)
	}
	if g.op == "=" {
		g.op = "=="
	}
	if number, ok := strings.CutSuffix(value, "%"); ok {
		x, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return fmt.Errorf("%q: found %s; allowed: a percentage as in 99%%", g.Text, value)
		}
		g.value, g.share = x/100, true
		return nil
	}
	if x, err := strconv.ParseFloat(value, 64); err == nil {
		g.value = x
		return nil
	}
	if d, err := time.ParseDuration(value); err == nil {
		g.value = d.Seconds()
		return nil
	}
	if g.op != "==" && g.op != "!=" {
		return fmt.Errorf("%q: found %s; allowed: a number, a duration as in 200ms or a percentage as in 99%%", g.Text, value)
	}
	g.word = value
	return nil
}

// Figures are the figures of a result by their paths.
type Figures struct {
	numbers map[string]float64
	words   map[string]string
	// Paths in the order of the result.
	Paths []string
}

// Of returns the figures of a result.
func Of(r *sim.Result) *Figures {
	f := &Figures{numbers: map[string]float64{}, words: map[string]string{}}
	decoder := json.NewDecoder(bytes.NewReader(r.AppendJSON(nil)))
	f.read(decoder, "")
	return f
}

// read reads the value at a path. The text is our own, so that it has no errors.
func (f *Figures) read(decoder *json.Decoder, path string) {
	token, err := decoder.Token()
	if errors.Is(err, io.EOF) {
		return
	}
	switch value := token.(type) {
	case json.Delim: // an object
		for decoder.More() {
			name, _ := decoder.Token()
			below := fmt.Sprint(name)
			if path != "" {
				below = path + "." + below
			}
			f.read(decoder, below)
		}
		_, _ = decoder.Token()
	case float64:
		f.numbers[path] = value
		f.Paths = append(f.Paths, path)
	case string:
		f.words[path] = value
		f.Paths = append(f.Paths, path)
	case nil:
		// A time that there is not: known, and without a number.
		f.words[path] = "null"
		f.Paths = append(f.Paths, path)
	}
}

// Resolve returns the whole path of a figure that a shorter one names.
func (f *Figures) Resolve(path string) (string, error) {
	if slices.Contains(f.Paths, path) {
		return path, nil
	}
	var found []string
	for _, front := range []string{"clients.", "services."} {
		if slices.Contains(f.Paths, front+path) {
			found = append(found, front+path)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 2:
		return "", fmt.Errorf("%s: found in clients and in services; allowed: %s", path, strings.Join(found, " or "))
	}
	return "", fmt.Errorf("%s: found no figure of this name; allowed: the paths of the result, as in %s", path, strings.Join(f.near(path), ", "))
}

// near returns some paths that are like one.
func (f *Figures) near(path string) []string {
	const most = 8
	var list []string
	last := path[strings.LastIndexByte(path, '.')+1:]
	for _, one := range f.Paths {
		if strings.HasSuffix(one, last) {
			list = append(list, one)
		}
	}
	if len(list) == 0 {
		list = f.Paths
	}
	return list[:min(most, len(list))]
}

// Number returns a figure by its path. It is false for a word, and for a time that
// there is not.
func (f *Figures) Number(path string) (float64, bool) {
	x, ok := f.numbers[path]
	return x, ok
}

// Check compares the figure with the value. It returns the figure as text. The error
// says that there is no such figure.
func (g Goal) Check(f *Figures) (found string, met bool, err error) {
	path, err := f.Resolve(g.Path)
	if err != nil {
		return "", false, err
	}
	if word, ok := f.words[path]; ok {
		switch {
		case g.word != "":
			return word, (word == g.word) == (g.op == "=="), nil
		case word == "null":
			return "none", false, nil
		}
		return "", false, fmt.Errorf("%q: found the word %s; allowed: == or != and a word", g.Text, word)
	}
	x := f.numbers[path]
	switch {
	case g.word == "null":
		return strconv.FormatFloat(x, 'g', 6, 64), g.op == "!=", nil
	case g.word != "":
		return "", false, fmt.Errorf("%q: found a number at %s; allowed: a number behind %s", g.Text, path, g.op)
	}
	if g.share {
		if whole, ok := f.whole(path); ok {
			if x == 0 && whole == 0 {
				whole = 1
			}
			x /= whole
			return strconv.FormatFloat(100*x, 'g', 6, 64) + "%", g.compare(x), nil
		}
	}
	return strconv.FormatFloat(x, 'g', 6, 64), g.compare(x), nil
}

func (g Goal) compare(x float64) bool {
	switch g.op {
	case "<":
		return x < g.value
	case "<=":
		return x <= g.value
	case ">":
		return x > g.value
	case ">=":
		return x >= g.value
	case "!=":
		return x != g.value
	}
	return x == g.value
}

// Distance returns by how much a goal is missed, as a part of its value: 0 where it is
// met. It is for searches.
func (g Goal) Distance(f *Figures) (float64, error) {
	_, met, err := g.Check(f)
	if err != nil || met {
		return 0, err
	}
	path, err := f.Resolve(g.Path)
	if err != nil {
		return 0, err
	}
	x, ok := f.Number(path)
	if !ok {
		return 1, nil
	}
	if whole, ok := f.whole(path); ok && g.share && whole > 0 {
		x /= whole
	}
	off := x - g.value
	if off < 0 {
		off = -off
	}
	if size := max(g.value, -g.value); size > 0 {
		off /= size
	}
	return max(off, 1e-9), nil // a limit that is met exactly may be missed by < alone
}

// whole returns what a count is a share of.
func (f *Figures) whole(path string) (float64, bool) {
	parts := strings.Split(path, ".")
	counts := map[string][]string{
		"clients":  {"ok", "failed", "refused", "unfinished", "attempts", "repeats", "refusals"},
		"services": {"served", "dropped", "refused", "wasted"},
	}
	if len(parts) < 3 || !slices.Contains(counts[parts[0]], parts[2]) {
		return 0, false
	}
	all := map[string]string{"clients": "calls", "services": "arrived"}[parts[0]]
	return f.Number(parts[0] + "." + parts[1] + "." + all)
}
