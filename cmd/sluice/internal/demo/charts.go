package demo

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// charts draws all charts of a report; the first is the large one.
func (d *drawing) charts(sums *[Sides]Summary, changes []Change, guarded bool) []*Chart {
	first := d.goodput(sums)
	if guarded {
		first.Band = d.band(changes)
	}
	return []*Chart{first, d.latency(sums), d.attempts(sums), d.queue(sums), d.refusals(sums)}
}

// of takes a number of every bin of a side.
func (d *drawing) of(side Side, f func(*Bin) float64) []*float64 {
	values := make([]*float64, len(d.bins[side]))
	for i := range values {
		// More digits would make the page larger and show nothing.
		v := math.Round(f(&d.bins[side][i])*100) / 100
		values[i] = &v
	}
	return values
}

// rate is of for counts, a second.
func (d *drawing) rate(side Side, count func(*Bin) int) []*float64 {
	return d.of(side, func(b *Bin) float64 { return b.PerSecond(count(b)) })
}

// limit adds what the service can do. Its value is that at the middle of a bin,
// its line has the steps where they are.
func (d *drawing) limit(c *Chart, name string) {
	s := d.scenario
	c.line(name, "limit", false, d.of(With, func(b *Bin) float64 { return s.Capacity(s.Phase((b.From + b.To) / 2)) }))
	line := &c.Lines[len(c.Lines)-1]
	for p := Healthy; p <= Healed; p++ {
		from, to := s.span(p)
		at := d.segment(from, to, "", "")
		line.Steps = append(line.Steps, Step{at.From * 10, (at.From + at.Width) * 10, s.Capacity(p)})
	}
}

// classes are the sides' in the page.
var classes = [Sides]string{"without", "byhand", "with"}

func (d *drawing) goodput(sums *[Sides]Summary) *Chart {
	c := newChart("goodput", "Good answers a second", "/s", 0)
	d.limit(c, "the service can do")
	c.line("calls that come", "offered", false, d.rate(With, func(b *Bin) int { return b.Offered }))
	for side, class := range classes {
		c.line(Side(side).String(), class, true, d.rate(Side(side), func(b *Bin) int { return b.Good }))
	}
	c.Label = "Good answers a second, healthy, slow and healed: " + ofSides(sums, threePhases) + "."
	return c.finish()
}

// ofSides writes a value of every side.
func ofSides(sums *[Sides]Summary, of func(*Summary) string) string {
	var all []string
	for i := range sums {
		all = append(all, fmt.Sprintf("%s %s", Side(i), of(&sums[i])))
	}
	return strings.Join(all, "; ")
}

func threePhases(m *Summary) string {
	return fmt.Sprintf("%.0f, %.0f and %.0f", m.Goodput[Healthy], m.Goodput[Slow], m.Goodput[Healed])
}

func (d *drawing) latency(sums *[Sides]Summary) *Chart {
	c := newChart("latency", "p99 of the time until the caller knows", " ms", 0)
	for side, class := range classes {
		c.line(Side(side).String(), class, false, d.millis(Side(side), func(b *Bin) time.Duration { return b.P99 }))
	}
	c.Label = "Latency of all calls, good, failed and refused. p99 over the whole run: " +
		ofSides(sums, func(m *Summary) string { return millis(m.AllP99) }) + "."
	return c.finish()
}

// millis takes a latency of every bin; nil where there is none.
func (d *drawing) millis(side Side, f func(*Bin) time.Duration) []*float64 {
	values := d.of(side, func(b *Bin) float64 { return float64(f(b)) / 1e6 })
	for i := range values {
		if f(&d.bins[side][i]) == None {
			values[i] = nil
		}
	}
	return values
}

func (d *drawing) attempts(sums *[Sides]Summary) *Chart {
	c := newChart("attempts", "Requests sent to the service", "/s", 0)
	d.limit(c, "it can do")
	for side, class := range classes {
		c.line(Side(side).String(), class, false, d.rate(Side(side), func(b *Bin) int { return b.Attempts }))
	}
	c.Label = "Requests a second that reach the service. Attempts per call: " +
		ofSides(sums, func(m *Summary) string { return fmt.Sprintf("%.2f, %d retries in all", m.PerCall, m.Retries) }) + "."
	return c.finish()
}

func (d *drawing) queue(sums *[Sides]Summary) *Chart {
	c := newChart("queue", "Requests that wait at the service", "", 10)
	for side, class := range classes {
		c.line(Side(side).String(), class, true, d.of(Side(side), func(b *Bin) float64 { return float64(b.Waiting) }))
	}
	c.Label = fmt.Sprintf("Requests in the service's queue, which has %d places. The most: %s.",
		d.scenario.Queue, ofSides(sums, func(m *Summary) string { return fmt.Sprint(m.Queue) }))
	return c.finish()
}

// colours is how many reasons of refusals have a colour of their own.
const colours = 6

func (d *drawing) refusals(sums *[Sides]Summary) *Chart {
	c := newChart("refusals", "Calls that the policy refuses, by reason", "/s", 0)
	for i, reason := range sums[With].Reasons {
		c.line(reason.Name, fmt.Sprintf("reason%d", min(i, colours-1)), false, d.rate(With, func(b *Bin) int { return b.Refused[reason.Name] }))
	}
	c.Label = fmt.Sprintf("Calls refused by the policy, stacked by reason; %d in all.", sums[With].Refused)
	return c.finishStacked()
}

// band draws the states of the breaker.
func (d *drawing) band(changes []Change) []Segment {
	var band []Segment
	for _, s := range spans(changes, d.scenario.Duration) {
		text := fmt.Sprintf("%s from %s to %s", s.State, seconds2(s.From), seconds2(s.To))
		band = append(band, d.segment(s.From, s.To, s.State, text))
	}
	return band
}

// shades draws the parts of the brown-out.
func (d *drawing) shades() []Segment {
	var all []Segment
	for _, p := range []Phase{Failing, Slow} {
		from, to := d.scenario.span(p)
		all = append(all, d.segment(from, to, p.String(), p.String()))
	}
	return all
}

func (d *drawing) segment(from, to time.Duration, class, text string) Segment {
	percent := func(at time.Duration) float64 { return float64(at) / float64(d.scenario.Duration) * 100 }
	return Segment{From: percent(from), Width: percent(to - from), Class: class, Text: text}
}

// times marks the axis of time, at whole and round times.
func (d *drawing) times() []Tick {
	step := time.Second
	for _, s := range []time.Duration{1, 2, 3, 5, 10, 15, 20, 30} {
		if step = s * time.Second; d.scenario.Duration/step <= 6 {
			break
		}
	}
	var ticks []Tick
	for at := time.Duration(0); at <= d.scenario.Duration; at += step {
		ticks = append(ticks, Tick{At: float64(at) / float64(d.scenario.Duration) * 100, Text: fmt.Sprintf("%ds", at/time.Second)})
	}
	return ticks
}

// seconds2 is seconds with the hundredths.
func seconds2(d time.Duration) string { return fmt.Sprintf("%.2fs", d.Seconds()) }
