package generate

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/oracle"
)

// Generate draws a policy and a log for it, to be run with the seed 0.
func Generate(rng *rand.Rand) (pipeline.Policy, []oracle.Event) { return GenerateFor(rng, 0) }

// GenerateFor draws a policy and a log for it, to be run with the given seed. The
// log is drawn along with the oracle's run, so that it knows which calls live and
// when something is due. Run with another seed, a log in which an id is used
// again could be invalid.
func GenerateFor(rng *rand.Rand, seed uint64) (pipeline.Policy, []oracle.Event) {
	return draw(&maker{Rand: rng, all: true}, seed)
}

// GenerateOf is GenerateFor with some mechanisms alone, for a runtime that has no others.
func GenerateOf(rng *rand.Rand, seed uint64, kinds ...pipeline.Kind) (pipeline.Policy, []oracle.Event) {
	return draw(&maker{Rand: rng, all: true, only: kinds}, seed)
}

// GenerateFirst is GenerateFor with the settings of the first edition of the vectors,
// whose policies never change.
func GenerateFirst(rng *rand.Rand, seed uint64) (pipeline.Policy, []oracle.Event) {
	return draw(&maker{Rand: rng}, seed)
}

// GeneratePassing is GenerateFor for a policy without steps, which its log replaces by
// others, with and without steps.
func GeneratePassing(rng *rand.Rand, seed uint64) (pipeline.Policy, []oracle.Event) {
	return draw(&maker{Rand: rng, all: true, passes: true}, seed)
}

// draw draws a policy and a log for it.
func draw(m *maker, seed uint64) (pipeline.Policy, []oracle.Event) {
	m.unit = of(m, time.Second, time.Second, 100*time.Millisecond, time.Millisecond, 10*time.Nanosecond, time.Hour)
	m.grid = of(m, mixed, mixed, mixed, onGrid, onGrid, offGrid)
	m.named = m.chance(40)
	kind := m.IntN(100)
	m.keyed, m.priced, m.chosen = kind < 20, m.all && kind >= 10 && kind < 30, m.all && kind >= 25 && kind < 45
	p := m.policy()
	l := &log{maker: m, policy: p, engine: oracle.New(p, seed), again: m.chance(25), still: of(m, 15, 40, 65)}
	if m.passes || m.chance(35) {
		l.configures = m.upTo(12)
	}
	for n := m.upTo(of(m, 10, 30, 80)); n > 0; n-- {
		l.next()
	}
	l.add(oracle.Event{At: l.engine.Now() + int64(100*m.unit), Op: "tick"})
	return p, l.events
}

// log is a log that is being drawn.
type log struct {
	*maker
	policy     pipeline.Policy
	engine     *oracle.Engine
	events     []oracle.Event
	ids        []string // of all calls
	still      int      // percentage of events at the mark of the one before
	configures int      // percentage of configures in it
	again      bool     // ids of calls that are over are used again
}

func (l *log) add(e oracle.Event) {
	if err := l.engine.Apply(e); err != nil {
		panic("generate: " + err.Error())
	}
	l.events = append(l.events, e)
}

// next draws one event.
func (l *log) next() {
	at := l.mark()
	// What is due happens before the event is drawn, which may end a call.
	if err := l.engine.Apply(oracle.Event{At: at, Op: "tick"}); err != nil {
		panic("generate: " + err.Error())
	}
	if l.chance(l.configures) || l.configures > 0 && l.waiting() && l.chance(20) {
		if l.chance(40) {
			// Several calls, so that some wait when the policy changes.
			for n := l.upTo(5); n > 0; n-- {
				l.call(at)
			}
		}
		l.policy = l.changed(l.policy)
		p := l.policy
		l.add(oracle.Event{At: at, Op: "configure", Policy: &p})
		return
	}
	switch n := l.IntN(100); {
	case n < 50 || n < 80 && !l.running() && l.chance(90):
		l.call(at)
	case n < 80:
		l.done(at)
	case n < 88:
		l.add(oracle.Event{At: at, Op: "cancel", ID: l.someID(false)})
	case n < 94:
		e := oracle.Event{At: at, Op: "renew"}
		e.ID, e.Attempt = l.someAttempt(l.chance(80))
		l.add(e)
	default:
		l.add(oracle.Event{At: at, Op: "tick"})
	}
}

// mark draws when the next event comes.
func (l *log) mark() int64 {
	now, unit := l.engine.Now(), int64(l.unit)
	wake, due := l.engine.NextWake()
	if l.chance(l.still) {
		return now
	}
	soon := due && wake-now <= 10*unit
	next := (now/unit + int64(l.upTo(3))) * unit
	n := l.IntN(100)
	switch {
	case l.grid == onGrid && n < 20 && soon:
		return wake
	case l.grid == onGrid && n < 97:
		return next
	case l.grid == onGrid:
		return next + int64(l.IntN(40))*unit
	case n < 40 && soon:
		return wake + int64(of(l.maker, 0, 0, 0, 0, 0, -1, 1))
	case n < 88 && l.grid == mixed:
		return next
	case n < 92:
		return now + l.Int64N(2*unit)
	case n < 95:
		return now - l.Int64N(3*unit)
	case n < 98:
		return now + unit/2
	}
	return now + int64(l.upTo(40))*unit
}

func (l *log) call(at int64) {
	id := strconv.Itoa(len(l.ids) + 1)
	if l.chance(10) {
		id = `"c` + id + `"`
	}
	if l.again && l.chance(20) && len(l.ids) > 0 {
		if old := of(l.maker, l.ids...); !l.live(old) {
			id = old
		}
	}
	l.ids = append(l.ids, id)
	e := oracle.Event{At: at, Op: "call", ID: id, Cost: of(l.maker, uint32(1), 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 0, 5)}
	if l.chance(60) {
		e.Key = of(l.maker, "a", "b", "c")
		if l.keyed && l.chance(50) {
			e.Key = of(l.maker, "d", "e", "f", "g")
		}
	}
	if l.chance(60) {
		e.Attributes = map[string]string{"header:x": of(l.maker, "", "a", "b")}
		if l.priced {
			e.Attributes["header:n"] = of(l.maker, "", "0", "1", "1", "2", "3", "5", "-1", "02", "99999999999", "9999999999999999999")
		}
	}
	if l.chosen && l.chance(70) {
		if e.Attributes == nil {
			e.Attributes = map[string]string{}
		}
		e.Attributes["ip"] = of(l.maker, "10.1.0.7", "192.0.2.1", "192.0.2.200", "2001:db8::5/64", "2001:db8::6/64", "2001:db9::1", "::ffff:10.2.0.1", "192.0.2.7/16", "FE80::1%eth0", "10.1.0.8:80", "unknown")
	}
	switch n := l.IntN(100); {
	case n < 15:
		e.Deadline = pointer(int64(l.units(of(l.maker, 6, 25))))
	case n < 16:
		e.Deadline = pointer(0)
	}
	l.add(e)
}

func (l *log) done(at int64) {
	e := oracle.Event{At: at, Op: "done"}
	e.ID, e.Attempt = l.someAttempt(l.chance(95))
	e.Outcome = of(l.maker, "ok", "ok", "fail", "fail", "fail", "fail", "throttle", "throttle", "ignore")
	if l.chance(15) {
		e.RetryAfter = pointer(int64(l.IntN(6)) * int64(l.unit))
		if l.grid == offGrid {
			e.RetryAfter = pointer(int64(l.units(6)))
		}
	} else if l.chance(4) {
		e.RetryAfter = pointer(-int64(l.IntN(2)*int(l.unit) + 1))
	}
	if l.priced && l.chance(60) {
		e.Used = pointer(int64(of(l.maker, 0, 1, 1, 2, 2, 3, 4, 9)))
	}
	l.add(e)
}

// someID draws the id of a live call, a running one if asked for and if there is
// one, sometimes of a call that is over or never existed.
func (l *log) someID(running bool) string {
	id, _ := l.someAttempt(running)
	return id
}

// someAttempt draws an id as someID does, and for half of those that run the
// number of an attempt that runs; now and then another number.
func (l *log) someAttempt(running bool) (id string, attempt int) {
	var live []oracle.Live
	for _, c := range l.engine.Live() {
		if len(c.Running) > 0 || !running {
			live = append(live, c)
		}
	}
	switch {
	case len(live) > 0 && l.chance(95):
		c := of(l.maker, live...)
		if len(c.Running) > 0 && l.chance(50) {
			attempt = of(l.maker, c.Running...)
		}
		id = c.ID
	case len(l.ids) > 0 && l.chance(80):
		id = of(l.maker, l.ids...)
	default:
		id = strconv.Itoa(900 + l.IntN(2))
	}
	if l.chance(3) {
		attempt = l.upTo(5)
	}
	return id, attempt
}

// running reports whether any attempt runs.
func (l *log) running() bool {
	return slices.ContainsFunc(l.engine.Live(), func(c oracle.Live) bool { return len(c.Running) > 0 })
}

// waiting reports whether any call waits.
func (l *log) waiting() bool {
	return slices.ContainsFunc(l.engine.Live(), func(c oracle.Live) bool { return c.Waiting })
}

func (l *log) live(id string) bool {
	return slices.ContainsFunc(l.engine.Live(), func(c oracle.Live) bool { return c.ID == id })
}

func pointer(n int64) *int64 { return &n }
