package sluice

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/attempt"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
)

// Pipeline is a policy in force: its steps with their state. It is safe for
// concurrent use.
type Pipeline struct {
	listeners
	*settings
	layout  atomic.Pointer[layout]
	change  sync.Mutex // of the layout
	shared  sync.Mutex // of the cells that all calls share
	numbers atomic.Uint64
	name    string
}

// layout is a plan with the cells of its steps, immutable. A call keeps the
// layout under which it began.
type layout struct {
	plan  *pipeline.Plan
	about *policy.Policy // what the document says beside the plan, nil without one
	steps [pipeline.MaxSteps]*cells
	boxes [pipeline.MaxSteps]*box // of the steps with one cell
	// ends are what attempts end with: at the caller's deadline, then at each
	// timeout step.
	ends [pipeline.MaxSteps + 1]*end

	// Of the happy path, where the policy has one.
	straight bool
	lane     []laneStep
	budget   *box          // of the retry, nil for none
	cut      time.Duration // of the shortest timeout, 0 for none
	cutStep  int           // that timeout
	due      time.Duration // of the first timeout or warning, 0 for none
}

// end is what an attempt ends with at a deadline.
type end struct {
	cause    error
	deadline *attempt.Deadline
}

// cells are those of a step: one, or one for each key.
type cells struct {
	pipeline *Pipeline
	name     string
	per      []string
	kind     pipeline.Kind
	one      *box

	mu       sync.Mutex
	maker    cell.Maker
	leased   bool
	boxes    map[string]*box
	list     []*box // of the map, for the search for forgettable ones
	last     clock.Mark
	hand     int
	overflow *box // shared by new keys when there are too many
}

// New puts a policy in force.
func New(p pipeline.Policy, options ...Option) (*Pipeline, error) {
	plan, err := pipeline.Compile(p)
	if err != nil {
		return nil, err
	}
	return newPipeline(plan, nil, newSettings(options)), nil
}

func newPipeline(plan *pipeline.Plan, about *policy.Policy, s *settings) *Pipeline {
	p := &Pipeline{settings: s, name: plan.Name()}
	if s.logger != nil {
		p.Listen(logs(s.logger))
	}
	l, _ := p.arrange(plan, about, nil)
	p.layout.Store(l)
	return p
}

// Name returns the policy's name.
func (p *Pipeline) Name() string { return p.name }

// Plan returns the compiled policy in force.
func (p *Pipeline) Plan() *pipeline.Plan { return p.layout.Load().plan }

// Document returns what the policy document says beside the steps, as the
// meaning of HTTP answers, which must not be changed; nil for a policy that was
// made of Go values.
func (p *Pipeline) Document() *policy.Policy { return p.layout.Load().about }

// Fallback returns the policy's fallback, nil for none.
func (p *Pipeline) Fallback() *fallback.Config { return p.Plan().Fallback() }

// Configure puts another policy in force. Calls that run keep the one under
// which they began. Steps are matched by name, mechanism and keys, and keep
// their state as the policy reference says under configure. An error changes
// nothing.
func (p *Pipeline) Configure(next pipeline.Policy) error {
	plan, err := pipeline.Compile(next)
	if err != nil {
		return err
	}
	tellAll(p.configure(plan, nil))
	return nil
}

// configure puts a plan in force and returns what there is to tell of it when
// nothing is held any more.
func (p *Pipeline) configure(plan *pipeline.Plan, about *policy.Policy) []news {
	p.change.Lock()
	defer p.change.Unlock()
	l, all := p.arrange(plan, about, p.layout.Load())
	p.layout.Store(l)
	return all
}

// news is what changed in a cell when another plan came into force.
type news struct {
	box     *box
	changes []reducer.Effect
}

func tellAll(all []news) {
	for _, n := range all {
		n.box.tell(n.changes)
	}
}

// arrange makes the layout of a plan and takes over the cells of the old one.
func (p *Pipeline) arrange(plan *pipeline.Plan, about *policy.Policy, old *layout) (l *layout, all []news) {
	l = &layout{plan: plan, about: about}
	l.ends[0] = p.endAt(pipeline.Deadline)
	for i := range plan.Len() {
		s := plan.Step(i)
		if s.Kind() == pipeline.Timeout {
			l.ends[i+1] = p.endAt(s.Name)
		}
		if plan.Maker(i) == nil {
			continue
		}
		c := old.cells(s)
		if c != nil {
			all = append(all, c.configure(plan.Maker(i), leases(s))...)
		} else {
			c = p.newCells(plan.Maker(i), s)
		}
		l.steps[i], l.boxes[i] = c, c.one
	}
	l.straighten()
	return l, all
}

func (p *Pipeline) endAt(step string) *end {
	cause := &TimeoutError{Policy: p.name, Step: step}
	return &end{cause, attempt.DeadlineWith(cause)}
}

func leases(s pipeline.Step) bool {
	return s.Kind() == pipeline.Bulkhead && pipeline.ConfigOf[bulkhead.Config](s).Lease > 0
}

// cells returns those of the step that has the name, the mechanism and the
// keys, nil for none.
func (l *layout) cells(s pipeline.Step) *cells {
	if l == nil {
		return nil
	}
	for _, c := range l.steps {
		if c != nil && c.name == s.Name && c.kind == s.Kind() && slices.Equal(c.per, s.Per) {
			return c
		}
	}
	return nil
}

func (p *Pipeline) newCells(m cell.Maker, s pipeline.Step) *cells {
	c := &cells{pipeline: p, name: s.Name, per: s.Per, kind: s.Kind(), maker: m, leased: leases(s), last: clock.Always}
	if len(s.Per) == 0 {
		c.one = c.make("", p.now())
		return c
	}
	c.boxes = map[string]*box{}
	return c
}

func (c *cells) make(key string, now clock.Mark) *box {
	mu := &c.pipeline.shared
	if len(c.per) > 0 {
		mu = new(sync.Mutex)
	}
	b := newBox(c.maker.New(now), mu, c.pipeline.now, c.changed)
	b.leased, b.key, b.born, b.used = c.leased, key, now, now
	return b
}

// changed tells of a breaker's change or of a lease that ran out.
func (c *cells) changed(b *box, e reducer.Effect) {
	event := Event{At: e.Permit.Mark, Policy: c.pipeline.name, Step: c.name, Key: b.key, Reason: e.Reason}
	if e.Kind == reducer.Lapse {
		event.Kind, event.RetryAfter = decision.Lapse, -1
	} else {
		event.Kind, event.Change = decision.Change, mode(e.Permit.ID)
	}
	c.pipeline.tell(event)
}

func (c *cells) configure(m cell.Maker, leased bool) (all []news) {
	c.mu.Lock()
	c.maker, c.leased = m, leased
	boxes := slices.Clone(c.list)
	if c.overflow != nil {
		boxes = append(boxes, c.overflow)
	}
	c.mu.Unlock()
	if c.one != nil {
		boxes = append(boxes, c.one)
	}
	for _, b := range boxes {
		if changes := b.adopt(m, leased); len(changes) > 0 {
			all = append(all, news{b, changes})
		}
	}
	return all
}

// find returns the cell of a key, which the caller lets go of by refs.Add(-1).
func (c *cells) find(lookup func(string) string, now clock.Mark) *box {
	return c.at(keyOf(c.per, lookup), now)
}

func (c *cells) at(key string, now clock.Mark) *box {
	c.mu.Lock()
	defer c.mu.Unlock()
	// A cell that was forgotten has been full at some mark. One that is made anew
	// for a caller who read the clock before that does not begin before it.
	c.last = max(c.last, now)
	b := c.boxes[key]
	if b == nil {
		b = c.add(key, c.last)
	}
	b.refs.Add(1)
	return b
}

// breakerIdle is how long a breaker's key is kept when nothing happens to it,
// once there are as many keys as there may be.
const breakerIdle = 10 * time.Minute

// add makes the cell of a key. At the maximum it looks for one to forget: one
// that cannot be told from a new one. Where there is none, new keys share one
// cell, see WithMaxKeys: while that can be told from a new one, any key that has
// none may have taken from it.
func (c *cells) add(key string, now clock.Mark) *box {
	if b := c.overflow; b != nil && (b.refs.Load() > 0 || !b.fresh(now, c.kind)) {
		return b
	}
	c.overflow = nil
	if len(c.list) >= c.pipeline.maxKeys && !c.forget(now) {
		c.overflow = c.make("", now)
		c.overflow.shared = true
		return c.overflow
	}
	b := c.make(key, now)
	c.boxes[key] = b
	c.list = append(c.list, b)
	return b
}

// looks is how many cells are looked at for one to forget.
const looks = 16

func (c *cells) forget(now clock.Mark) bool {
	for range min(looks, len(c.list)) {
		c.hand %= len(c.list)
		b := c.list[c.hand]
		if b.refs.Load() == 0 && b.fresh(now, c.kind) {
			delete(c.boxes, b.key)
			c.list[c.hand] = c.list[len(c.list)-1]
			c.list[len(c.list)-1] = nil
			c.list = c.list[:len(c.list)-1]
			return true
		}
		c.hand++
	}
	return false
}

// fresh reports whether a cell may be forgotten.
func (b *box) fresh(now clock.Mark, kind pipeline.Kind) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if kind == pipeline.Breaker && b.used.Add(breakerIdle) <= now {
		return true
	}
	return b.cell.Fresh(now)
}

// keyOf joins the values of the attributes so that different lists never give
// one key.
func keyOf(per []string, lookup func(string) string) string {
	if len(per) == 1 {
		return lookup(per[0])
	}
	var key []byte
	for _, attribute := range per {
		value := lookup(attribute)
		key = strconv.AppendInt(key, int64(len(value)), 10)
		key = append(key, ':')
		key = append(key, value...)
	}
	return string(key)
}
