package lanes

import (
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/sim/engine"
	"github.com/sluice-go/sluice/sim/internal/jsontext"
)

// Data is a result as the page reads it.
type Data struct {
	// Parts is how many parts the time has.
	Parts  int
	result *engine.Result
}

// DataOf returns the data of a result.
func DataOf(r *engine.Result) *Data { return &Data{Parts: r.Timeline.Parts, result: r} }

// MarshalJSON implements json.Marshaler.
func (d *Data) MarshalJSON() ([]byte, error) { return d.AppendJSON(nil), nil }

// AppendJSON appends the data as one JSON object: times are seconds, numbers have six
// digits, and what is no number is null. The counts of a map are the numbers and counts
// of the buckets that have calls, one after another.
func (d *Data) AppendJSON(dst []byte) []byte {
	r := d.result
	w := writer{jsontext.Writer{Text: dst}}
	w.Open('{')
	w.seconds("duration", r.Duration)
	w.seconds("warmup", r.Duration-r.Counted)
	w.seconds("width", r.Timeline.Width)
	w.Count("parts", uint64(d.Parts))
	w.Key("groups")
	w.Open('[')
	for _, g := range Of(r) {
		w.Item()
		w.group(&g)
	}
	w.Close(']')
	w.Key("samples")
	w.Open('[')
	for i := range r.Samples {
		w.Item()
		w.sample(&r.Samples[i])
	}
	w.Close(']')
	w.Close('}')
	return w.Text
}

type writer struct{ jsontext.Writer }

func (w *writer) seconds(name string, d time.Duration) {
	w.Key(name)
	w.Short(d.Seconds())
}

// span writes a time with a text.
func (w *writer) span(from, to time.Duration, text string) {
	w.Item()
	w.Open('{')
	w.seconds("from", from)
	w.seconds("to", to)
	w.String("text", text)
	w.Close('}')
}

func (w *writer) group(g *Group) {
	w.Open('{')
	w.Key("service")
	w.Raw(strconv.FormatBool(g.Service))
	w.String("name", g.Name)
	if g.To != "" {
		w.String("to", g.To)
	}
	w.Key("bands")
	w.Open('[')
	for _, b := range g.Bands {
		w.span(b.From, b.To, b.Text)
	}
	w.Close(']')
	w.Key("lanes")
	w.Open('[')
	for i := range g.Lanes {
		w.Item()
		w.lane(&g.Lanes[i])
	}
	w.Close(']')
	w.Close('}')
}

func (w *writer) lane(l *Lane) {
	w.Open('{')
	w.String("id", l.ID)
	w.String("title", l.Title)
	w.String("form", string(l.Form))
	w.String("unit", string(l.Unit))
	w.Key("series")
	w.Open('[')
	for _, s := range l.Series {
		w.series(&s)
	}
	w.Close(']')
	w.Key("rows")
	w.Open('[')
	for _, r := range l.Rows {
		w.Item()
		w.Open('{')
		w.String("name", r.Name)
		w.Key("spans")
		w.Open('[')
		for _, s := range r.Spans {
			w.span(s.From, s.To, s.State)
		}
		w.Close(']')
		w.Close('}')
	}
	w.Close(']')
	if l.Heat != nil {
		w.heat(l.Heat)
	}
	w.Close('}')
}

func (w *writer) series(s *Series) {
	w.Item()
	w.Open('{')
	w.String("name", s.Name)
	w.String("role", string(s.Role))
	w.Key("values")
	w.Open('[')
	for _, v := range s.Values {
		w.Item()
		w.Short(v)
	}
	w.Close(']')
	w.Close('}')
}

func (w *writer) heat(m *Map) {
	w.Key("edges")
	w.Open('[')
	for _, e := range m.Edges {
		w.Item()
		w.Short(e.Seconds())
	}
	w.Close(']')
	w.Key("counts")
	w.Open('[')
	for _, counts := range m.Counts {
		w.Item()
		w.Open('[')
		for i, n := range counts {
			if n > 0 {
				w.Item()
				w.Text = strconv.AppendInt(w.Text, int64(i), 10)
				w.Item()
				w.Text = strconv.AppendUint(w.Text, uint64(n), 10)
			}
		}
		w.Close(']')
	}
	w.Close(']')
}

// sample writes an engine.Sample without what is empty. Its states are lists of the step, the state before
// and the state after.
func (w *writer) sample(s *engine.Sample) {
	w.Open('{')
	w.Count("client", uint64(s.Client))
	w.seconds("at", time.Duration(s.At))
	if s.Event != "" {
		w.String("event", s.Event)
	}
	if s.Call > 0 {
		w.Count("call", s.Call)
	}
	if s.Key != "" {
		w.String("key", s.Key)
	}
	w.Key("decisions")
	w.Open('[')
	for _, line := range s.Decisions {
		w.Item()
		w.Raw(strings.TrimSpace(line))
	}
	w.Close(']')
	w.Key("states")
	w.Open('[')
	for _, st := range s.States {
		w.Item()
		w.Open('[')
		for _, text := range [...]string{st.Step, st.Before, st.After} {
			w.Item()
			w.Text = jsontext.AppendText(w.Text, text)
		}
		w.Close(']')
	}
	w.Close(']')
	w.Close('}')
}
