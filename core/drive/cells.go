package drive

import (
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// node is a cell with its wakes.
type node struct {
	cell        cell.Cell
	pool        *pool
	key         uint32
	at          int // in pool.list
	refs        int // calls that passed or wait
	turns       []turn
	end, serves entry
}

// turn is a waiter whose wait is over at the mark of its turn.
type turn struct {
	call decision.Handle
	step int
}

// pool holds the cells of a step: one, or one for each key.
type pool struct {
	maker cell.Maker
	kind  pipeline.Kind
	per   []string
	step  uint8
	keyed []*node // by the number of the key
	list  []*node
	hand  int // where the search for forgettable cells goes on
}

// layout is a plan with the pools of its steps. A call keeps the layout under
// which it began.
type layout struct {
	plan  *pipeline.Plan
	pools [pipeline.MaxSteps]*pool
}

// newLayout takes over the pools of the steps that have the name, the kind and
// the keys of a step of the old layout. A step without keys has its cell from
// the start, so that an unused limiter carries over what it has.
func (d *Driver) newLayout(plan *pipeline.Plan, old *layout) *layout {
	l := &layout{plan: plan}
	for i := range plan.Len() {
		if plan.Maker(i) == nil {
			continue
		}
		if p := old.pool(plan, i); p != nil {
			l.pools[i] = p
		} else {
			l.pools[i] = &pool{maker: plan.Maker(i), kind: plan.Kind(i), per: plan.Per(i), step: uint8(i)}
			if len(plan.Per(i)) == 0 {
				d.newNode(l.pools[i], 0)
			}
		}
	}
	return l
}

// pool returns the pool of the step that is step i of another plan as well.
func (l *layout) pool(plan *pipeline.Plan, i int) *pool {
	if l == nil {
		return nil
	}
	for j := range l.plan.Len() {
		if l.plan.StepName(j) == plan.StepName(i) && l.plan.Kind(j) == plan.Kind(i) && slices.Equal(l.plan.Per(j), plan.Per(i)) {
			return l.pools[j]
		}
	}
	return nil
}

// Configure puts another plan in force. Calls that began before keep their
// plan; cells are matched by the names of their steps and keep their state as
// each mechanism says.
func (d *Driver) Configure(plan *pipeline.Plan) {
	d.tell(decision.Handle{}, decision.Configured)
	d.layout = d.newLayout(plan, d.layout)
	for i := range plan.Len() {
		p := d.layout.pools[i]
		if p == nil {
			continue
		}
		p.maker, p.step = plan.Maker(i), uint8(i)
		for _, n := range p.list {
			n.cell = p.maker.Adopt(n.cell, d.now, &d.out)
			d.arm(n)
		}
	}
	d.deliverInOrder()
	d.Advance(d.now)
}

// resolve returns the cell of a step for a call.
func (d *Driver) resolve(c *call, i int) *node {
	if n := c.nodes[i]; n != nil {
		return n
	}
	p := c.layout.pools[i]
	key := c.keys[i]
	n := p.at(key)
	if n == nil {
		n = d.newNode(p, key)
	}
	n.refs++
	c.nodes[i] = n
	return n
}

// at returns the cell of a key, nil where there is none yet.
func (p *pool) at(key uint32) *node {
	if uint(key) < uint(len(p.keyed)) {
		return p.keyed[key]
	}
	return nil
}

// use counts who needs the number of a key: cells, and calls until they are
// over.
func (d *Driver) use(key uint32) {
	for int(key) >= len(d.uses) {
		d.uses = append(d.uses, 0)
	}
	d.uses[key]++
}

// Uses reports whether the number of a key still means something to a cell or
// a live call. Where it does not, another key may have it.
func (d *Driver) Uses(key uint32) bool { return uint(key) < uint(len(d.uses)) && d.uses[key] > 0 }

const (
	// keep is how many cells a step has before any is forgotten. A cell equal
	// to a new one can be told from it by a Configure alone: it carries over
	// its free permits, where a new one starts with all of the new burst.
	keep = 1 << 16
	// sweep is how many cells are looked at for each new one, so that cells
	// are forgotten as fast as others come.
	sweep = 2
)

func (d *Driver) newNode(p *pool, key uint32) *node {
	for i := 0; i < sweep && len(p.list) >= keep; i++ {
		p.hand %= len(p.list)
		if n := p.list[p.hand]; n.refs == 0 && n.cell.Fresh(d.now) {
			d.forget(n)
		} else {
			p.hand++
		}
	}
	d.nodes++
	n := &node{pool: p, key: key, at: len(p.list)}
	n.cell = p.maker.New(d.now)
	n.end.node, n.end.number, n.end.class = n, d.nodes, leases
	if p.kind == pipeline.Breaker {
		n.end.class = breakers
	}
	n.serves.node, n.serves.class = n, serves
	for int(key) >= len(p.keyed) {
		p.keyed = append(p.keyed, nil)
	}
	p.keyed[key] = n
	p.list = append(p.list, n)
	d.use(key)
	return n
}

func (d *Driver) forget(n *node) {
	d.heap.remove(&n.end)
	d.heap.remove(&n.serves)
	p := n.pool
	p.keyed[n.key] = nil
	d.uses[n.key]--
	last := p.list[len(p.list)-1]
	p.list[n.at], last.at = last, n.at
	p.list[len(p.list)-1] = nil
	p.list = p.list[:len(p.list)-1]
}

// AppendState appends the stable binary form of the state of a step's cell,
// nothing where there is no such cell yet.
func (d *Driver) AppendState(dst []byte, step int, key uint32) []byte {
	if p := d.poolOf(step); p != nil {
		if n := p.at(key); n != nil {
			return n.cell.AppendState(dst)
		}
	}
	return dst
}

// Revive gives a step's cell the state that AppendState appended in another
// process, moved along the line of marks and without those who waited or held
// something there. On an error nothing has changed. Restore no cell at which
// calls of this driver wait or hold something.
func (d *Driver) Revive(step int, key uint32, src []byte, by time.Duration) error {
	p := d.poolOf(step)
	if p == nil || len(p.per) == 0 && key != 0 {
		return reducer.ErrEncoding
	}
	fresh := p.maker.New(d.now)
	if err := fresh.Revive(src, by); err != nil {
		return err
	}
	n := p.at(key)
	if n == nil {
		n = d.newNode(p, key)
	}
	n.cell = fresh
	d.arm(n)
	return nil
}

func (d *Driver) poolOf(step int) *pool {
	if step < 0 || step >= len(d.layout.pools) {
		return nil
	}
	return d.layout.pools[step]
}

// arm sets the wakes of a cell.
func (d *Driver) arm(n *node) {
	if at := n.cell.Ends(); at != n.end.at || n.end.pos == 0 {
		n.end.step = n.pool.step
		d.heap.set(&n.end, at)
	}
	at, caller := n.cell.Serves()
	if at == clock.Never {
		d.heap.set(&n.serves, at)
		return
	}
	n.serves.step = uint8(caller & 15)
	n.serves.number = d.caller(caller).number
	// A place that has been free for a while is there now.
	d.heap.set(&n.serves, max(at, d.now))
}
