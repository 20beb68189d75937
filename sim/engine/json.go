package engine

import (
	"time"

	"github.com/sluice-go/sluice/sim/internal/jsontext"
)

// AppendJSON appends the result as one JSON object with its line end: counts are
// numbers, times numbers of seconds, shares from 0 to 1. The names follow
// sim/REFERENCE.md#the-result; the timeline is left out: lanes.Data has it.
func (r *Result) AppendJSON(dst []byte) []byte {
	w := writer{jsontext.Writer{Text: dst}}
	w.Open('{')
	w.Count("seed", r.Seed)
	w.Seconds("duration", r.Duration)
	w.Seconds("counted", r.Counted)
	w.String("verdict", string(r.Verdict))
	w.Key("clients")
	w.Open('{')
	for i := range r.Clients {
		w.Key(r.Clients[i].Name)
		w.client(&r.Clients[i])
	}
	w.Close('}')
	w.Key("services")
	w.Open('{')
	for i := range r.Services {
		w.Key(r.Services[i].Name)
		w.service(&r.Services[i])
	}
	w.Close('}')
	w.Close('}')
	return append(w.Text, '\n')
}

// writer writes parts of a result.
type writer struct{ jsontext.Writer }

func (w *writer) latency(name string, l *Latency) {
	w.Key(name)
	w.Open('{')
	if l.Count == 0 {
		for _, name := range []string{"mean", "p50", "p90", "p99", "p999", "max"} {
			w.Seconds(name, -1)
		}
		w.Close('}')
		return
	}
	w.Number("mean", l.Mean/1e9)
	w.Seconds("p50", l.P50)
	w.Seconds("p90", l.P90)
	w.Seconds("p99", l.P99)
	w.Seconds("p999", l.P999)
	w.Seconds("max", l.Max)
	w.Close('}')
}

func (w *writer) client(c *ClientResult) {
	w.Open('{')
	w.Count("calls", c.Calls)
	w.Count("ok", c.OK)
	w.Count("failed", c.Failed)
	w.Count("refused", c.Refused)
	w.Count("unfinished", c.Unfinished)
	w.Count("attempts", c.Attempts)
	w.Key("refusals")
	w.Open('{')
	for _, one := range c.Refusals {
		w.Count(one.Step+":"+one.Reason, one.Calls)
	}
	w.Close('}')
	w.latency("latency", &c.Latency)
	w.Number("goodput", c.Goodput)
	w.Number("amplification", c.Amplification)
	w.Count("repeats", c.Repeats)
	w.Number("fairness", c.Fairness)
	w.String("verdict", string(c.Verdict))
	w.Seconds("recovery", c.Recovery)
	if c.Worst.Number > 0 {
		w.Key("worst")
		w.Open('{')
		w.Count("call", c.Worst.Number)
		w.Seconds("at", time.Duration(c.Worst.At))
		w.Seconds("latency", c.Worst.Latency)
		w.Count("attempts", uint64(c.Worst.Attempts))
		w.Close('}')
	}
	w.Key("breakers")
	w.Open('{')
	for _, one := range c.Breakers {
		w.Key(one.Step)
		w.Open('{')
		w.Count("opened", one.Opened)
		w.Seconds("first", one.First)
		w.Seconds("delay", one.Delay)
		w.Seconds("open", one.Open)
		w.Close('}')
	}
	w.Close('}')
	w.Close('}')
}

func (w *writer) service(s *ServiceResult) {
	w.Open('{')
	w.Count("arrived", s.Arrived)
	w.Count("served", s.Served)
	w.Count("dropped", s.Dropped)
	w.Count("refused", s.Refused)
	w.Count("wasted", s.Wasted)
	w.Number("utilization", s.Utilization)
	w.Number("in_system", s.InSystem)
	w.latency("wait", &s.Wait)
	w.Close('}')
}
