package drive

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// node is a cell with its wakes.
type node struct {
	cell        cell.Cell
	pool        *pool
	key         string
	at          int // in pool.list
	refs        int // calls that passed or wait
	turns       []turn
	end, serves entry
}

// turn is a waiter whose wait is over at the mark of its turn.
type turn struct {
	call Handle
	step int
}

// pool holds the cells of a step: one, or one for each key.
type pool struct {
	maker cell.Maker
	kind  pipeline.Kind
	per   []string
	step  uint8
	keyed map[string]*node
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
		s := plan.Step(i)
		if p := old.pool(s); p != nil {
			l.pools[i] = p
		} else {
			l.pools[i] = &pool{maker: plan.Maker(i), kind: s.Kind, per: s.Per, step: uint8(i), keyed: map[string]*node{}}
			if len(s.Per) == 0 {
				d.newNode(l.pools[i], "")
			}
		}
	}
	return l
}

func (l *layout) pool(s pipeline.Step) *pool {
	if l == nil {
		return nil
	}
	for i := range l.plan.Len() {
		was := l.plan.Step(i)
		if was.Name == s.Name && was.Kind == s.Kind && slices.Equal(was.Per, s.Per) {
			return l.pools[i]
		}
	}
	return nil
}

// Configure puts another plan in force. Calls that began before keep their
// plan; cells are matched by the names of their steps and keep their state as
// each mechanism says.
func (d *Driver) Configure(plan *pipeline.Plan) {
	d.tell(Decision{Kind: Configured})
	d.layout = d.newLayout(plan, d.layout)
	var out reducer.Out
	for i := range plan.Len() {
		p := d.layout.pools[i]
		if p == nil {
			continue
		}
		p.maker, p.step = plan.Maker(i), uint8(i)
		for _, n := range p.list {
			n.cell = p.maker.Adopt(n.cell, d.now, &out)
			d.arm(n)
		}
	}
	slices.SortStableFunc(out, func(a, b reducer.Effect) int {
		if n := cmp.Compare(d.caller(a).number, d.caller(b).number); n != 0 {
			return n
		}
		return cmp.Compare(a.Caller&15, b.Caller&15)
	})
	d.deliver(out)
	d.Advance(d.now)
}

// resolve returns the cell of a step for a call.
func (d *Driver) resolve(c *call, i int) *node {
	if n := c.nodes[i]; n != nil {
		return n
	}
	p := c.layout.pools[i]
	key := p.keyOf(c.lookup)
	n := p.keyed[key]
	if n == nil {
		n = d.newNode(p, key)
	}
	n.refs++
	c.nodes[i] = n
	return n
}

// keyOf joins the values of the attributes so that different lists never give
// one key.
func (p *pool) keyOf(lookup func(string) string) string {
	if len(p.per) == 0 {
		return ""
	}
	if len(p.per) == 1 {
		return lookup(p.per[0])
	}
	var key []byte
	for _, attribute := range p.per {
		value := lookup(attribute)
		key = strconv.AppendInt(key, int64(len(value)), 10)
		key = append(key, ':')
		key = append(key, value...)
	}
	return string(key)
}

const (
	// keep is how many cells a step has before any is forgotten. A cell equal
	// to a new one can be told from it by a Configure alone: it carries over
	// its free permits, where a new one starts with all of the new burst.
	keep = 1 << 16
	// sweep is how many cells are looked at for each new one, so that cells
	// are forgotten as fast as others come.
	sweep = 2
)

func (d *Driver) newNode(p *pool, key string) *node {
	for i := 0; i < sweep && len(p.list) >= keep; i++ {
		p.hand %= len(p.list)
		if n := p.list[p.hand]; n.refs == 0 && n.cell.Fresh(d.now) {
			d.forget(n)
		} else {
			p.hand++
		}
	}
	n := &node{cell: p.maker.New(d.now), pool: p, key: key, at: len(p.list)}
	n.end.node, n.serves.node = n, n
	n.end.class, n.serves.class = leases, serves
	if p.kind == pipeline.Breaker {
		n.end.class = breakers
	}
	d.nodes++
	n.end.number = d.nodes
	p.keyed[key] = n
	p.list = append(p.list, n)
	return n
}

func (d *Driver) forget(n *node) {
	d.heap.remove(&n.end)
	d.heap.remove(&n.serves)
	p := n.pool
	delete(p.keyed, n.key)
	last := p.list[len(p.list)-1]
	p.list[n.at], last.at = last, n.at
	p.list[len(p.list)-1] = nil
	p.list = p.list[:len(p.list)-1]
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
	n.serves.number = d.caller(reducer.Effect{Caller: caller}).number
	// A place that has been free for a while is there now.
	d.heap.set(&n.serves, max(at, d.now))
}
