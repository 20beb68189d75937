package drive

import (
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// node is a cell with its wakes.
type node struct {
	cell        cell.Cell
	pool        *pool
	key         uint32
	index       uint32 // in the pool's table
	gone        bool   // evicted: no call refers to it
	turns       []turn
	end, serves entry
}

// turn is a waiter whose wait is over at the mark of its turn.
type turn struct {
	call decision.Handle
	wait pipeline.Wait
}

// pool holds the cells of a step: one, or one for each key.
type pool struct {
	maker   cell.Maker
	loop    *Loop
	blocks  bool // the cells may block
	votes   bool // the cells take outcomes, and their permits do not lapse
	shared  bool // by the steps of several policies; then name is the mechanism's
	step    uint8
	name    string // of the step
	policy  string
	kind    pipeline.Kind
	per     []string
	layouts int            // that have it
	keys    keyed.Config   // the maximum number of keys
	one     *node          // of a step without keys; of one with keys, the overflow cell
	table   *keyed.Numbers // nil for a step without keys
	nodes   keyed.Slab[*node]
	barred  []barred // by their keys
}

// layout is a plan with the pools of its steps. A call keeps the layout under
// which it began.
type layout struct {
	plan  *pipeline.Plan
	calls int // active calls that began under it
	pools [pipeline.MaxSteps]*pool
}

// newLayout keeps the pools of the steps that the old layout has, too, and the pools of shared
// mechanisms. A step without keys has its cell from the start, so that an unused limiter
// is adopted with its state.
func (d *Driver) newLayout(plan *pipeline.Plan, old *layout) *layout {
	l := &layout{plan: plan}
	for i := range plan.Len() {
		if plan.Maker(i) == nil {
			continue
		}
		var p *pool
		if plan.Shares(i) != "" {
			p = d.sharedPool(plan, i)
		} else if p = old.pool(plan, i); p == nil {
			p = d.newPool(plan, i)
		}
		p.layouts++
		l.pools[i] = p
	}
	return l
}

// sharedPool returns the pool of the mechanism that a step shares: of its name and kind, with
// cells per the same attributes.
func (d *Loop) sharedPool(plan *pipeline.Plan, i int) *pool {
	name := plan.Shares(i)
	for _, p := range d.shared {
		if p.name == name && p.kind == plan.Kind(i) && slices.Equal(p.per, plan.Per(i)) {
			return p
		}
	}
	p := d.newPool(plan, i)
	p.shared, p.name = true, name
	d.shared = append(d.shared, p)
	return p
}

// unshare forgets the shared mechanisms that no active plan has. Running calls keep their
// cells.
func (d *Loop) unshare() {
	d.shared = slices.DeleteFunc(d.shared, func(p *pool) bool {
		return !slices.ContainsFunc(d.drivers, func(of *Driver) bool { return of.layout.stepOf(p) >= 0 })
	})
}

func (d *Loop) newPool(plan *pipeline.Plan, i int) *pool {
	p := &pool{loop: d, maker: plan.Maker(i), blocks: cell.Blocks(plan.Maker(i)), votes: plan.Records(i) && !plan.Leases(i), step: uint8(i), name: plan.StepName(i), policy: plan.Name(), kind: plan.Kind(i), per: plan.Per(i)}
	if len(plan.Per(i)) == 0 {
		p.one = d.newNode(p, 0, 0)
		return p
	}
	// The plan has checked the numbers.
	p.table, _ = keyed.NewNumbers(plan.Keys(i))
	p.table.SetHolder(p)
	p.keys = plan.Keys(i)
	return p
}

// Now implements keyed.Holder.
func (p *pool) Now() clock.Mark { return p.loop.now }

// Class implements keyed.Holder.
func (p *pool) Class(index uint32) (reducer.Class, clock.Mark) {
	return (*p.nodes.At(index)).cell.Class(p.loop.now)
}

// pool returns the pool of the step that is step i of another plan as well.
func (l *layout) pool(plan *pipeline.Plan, i int) *pool {
	if l == nil {
		return nil
	}
	if j := plan.Match(i, l.plan); j >= 0 {
		return l.pools[j]
	}
	return nil
}

// stepOf returns the step that has a pool, -1 for none.
func (l *layout) stepOf(p *pool) int {
	if l != nil {
		for i, own := range l.pools {
			if own == p {
				return i
			}
		}
	}
	return -1
}

// release forgets the cells of a layout without active calls under which no call
// begins any more, except those that other layouts share.
func (d *Loop) release(l *layout) {
	for _, p := range l.pools {
		if p == nil {
			continue
		}
		if p.layouts--; p.layouts > 0 {
			continue
		}
		for i := uint32(1); p.table != nil && i <= p.table.Len(); i++ {
			d.forget(*p.nodes.At(i))
		}
		if p.one != nil {
			d.forget(p.one)
		}
		d.endBlocks(p, func(barred) bool { return true })
	}
}

// clear forgets the cells of a layout.
func (l *layout) clear() {
	for _, p := range l.pools {
		if p != nil {
			*p = pool{}
		}
	}
}

// Configure replaces the active plan. Calls that began before keep their plan; cells
// are matched by the names of their steps and keep their state by the rules of each
// mechanism.
func (d *Driver) Configure(plan *pipeline.Plan) {
	d.decide(decision.Handle{}, decision.Configured).Policy = d.index
	old := d.layout
	d.layout = d.newLayout(plan, old)
	d.configure(plan, false)
	d.unshare()
	if old.calls == 0 {
		d.release(old)
	}
	d.deliverInOrder()
	d.catchUp()
}

// configure has the pools of the active layout adopt the settings of its plan. fresh says
// that the driver is new: then its own pools have them.
func (d *Driver) configure(plan *pipeline.Plan, fresh bool) {
	for i := range plan.Len() {
		p := d.layout.pools[i]
		if p == nil {
			continue
		}
		if !p.shared || d.isFirst(p) {
			p.step = uint8(i)
		}
		if fresh && p.layouts == 1 {
			continue
		}
		p.maker = plan.Maker(i)
		p.blocks = cell.Blocks(p.maker)
		d.adopt(p, plan.Keys(i))
	}
}

// isFirst reports whether no driver that joined before has a pool.
func (d *Driver) isFirst(p *pool) bool {
	for _, other := range d.drivers[:d.index] {
		if other.layout.stepOf(p) >= 0 {
			return false
		}
	}
	return true
}

// adopt reconfigures the cells of a pool by its present maker, and keeps at most as
// many as there may be keys.
func (d *Loop) adopt(p *pool, keys keyed.Config) {
	if p.table != nil {
		// The plan has checked the numbers.
		_ = p.table.Configure(keys)
		p.keys = keys
		if p.over() {
			d.trim(p)
		}
		for i := uint32(1); i <= p.table.Len(); i++ {
			d.adoptNode(*p.nodes.At(i))
		}
	}
	if p.one != nil {
		d.adoptNode(p.one)
	}
}

func (d *Loop) adoptNode(n *node) {
	before := len(d.out)
	n.cell = cell.Adopt(n.pool.maker, n.cell, d.now, &d.out)
	if d.Changes {
		d.change(n, before)
	}
	d.arm(n)
}

// trim evicts cells until there are at most as many as keys are allowed, or all are
// held.
func (d *Loop) trim(p *pool) {
	for {
		gone, last, ok := p.table.Trim()
		if !ok {
			return
		}
		d.forget(*p.nodes.At(gone))
		(*p.nodes.At(last)).index = gone
		p.nodes.Remove(gone, last)
	}
}

// node returns where a call keeps the cell of a step for its attempt k: a key that
// was evicted meanwhile has another cell for a later attempt.
func (c *call) node(k uint8, i int) **node {
	if k == 0 || i <= c.layout.plan.HedgeIndex() {
		return &c.nodes[i]
	}
	for int(k) > len(c.tries) {
		c.tries = append(c.tries, [pipeline.MaxSteps]*node{})
	}
	return &c.tries[k-1][i]
}

// resolve returns the cell of a step for an attempt of a call, which may be a new
// one. This counts as a use of its key; a later attempt gets the cell that its key
// has then.
func (c *call) resolve(k uint8, i int) *node {
	p := c.layout.pools[i]
	n := p.one
	if p.table != nil {
		n = c.driver.use(p, c.keys[i])
	}
	*c.node(k, i) = n
	return n
}

// use returns the cell of a key, which may be a new one.
func (d *Loop) use(p *pool, key uint32) *node {
	if p.over() {
		if _, known := p.table.Find(key); !known {
			d.trim(p)
		}
	}
	index, how := p.table.Use(key)
	switch how {
	case keyed.Known:
		return *p.nodes.At(index)
	case keyed.Shared:
		if p.one == nil {
			p.one = d.newNode(p, 0, 0)
		}
		return p.one
	case keyed.Added:
		p.nodes.Grow(index)
	case keyed.Evicted:
		d.forget(*p.nodes.At(index))
	}
	n := d.newNode(p, key, index)
	*p.nodes.At(index) = n
	return n
}

// at returns the cell of a key, nil where there is none yet.
func (p *pool) at(key uint32) *node {
	if p.table == nil {
		return p.one
	}
	if index, ok := p.table.Find(key); ok {
		return *p.nodes.At(index)
	}
	return nil
}

// count counts the users of the number of a key: cells, and calls until they are
// over.
func (d *Loop) count(key uint32) {
	for int(key) >= len(d.uses) {
		d.uses = append(d.uses, 0)
	}
	d.uses[key]++
}

// Uses reports whether a cell or a live call uses the number of a key. If not,
// another key may have it.
func (d *Loop) Uses(key uint32) bool { return uint(key) < uint(len(d.uses)) && d.uses[key] > 0 }

// Adds reports whether a call with the number of a key would add a cell to the cells
// of a step.
func (d *Driver) Adds(step int, key uint32) bool {
	p := d.poolOf(step)
	if p == nil || p.table == nil {
		return false
	}
	_, known := p.table.Find(key)
	return !known && p.table.Room()
}

// Counts returns how many keys a step of the active plan has, and how many were
// evicted or shared; zeros for a step without keys.
func (d *Driver) Counts(step int) (c keyed.Counts) {
	if p := d.poolOf(step); p != nil && p.table != nil {
		c = p.table.Counts()
	}
	return c
}

func (d *Loop) newNode(p *pool, key, index uint32) *node {
	d.nodes++
	n := &node{pool: p, key: key, index: index, cell: p.maker.New(d.now)}
	n.end.node, n.end.number, n.end.class = n, d.nodes, leases
	if p.votes {
		n.end.class = breakers
	}
	n.serves.node, n.serves.class = n, serves
	d.count(key)
	return n
}

// forget removes all references to a cell.
func (d *Loop) forget(n *node) {
	d.heap.remove(&n.end)
	d.heap.remove(&n.serves)
	d.uses[n.key]--
	n.gone = true
}

// AppendState appends the stable binary form of the state of a step's cell,
// nothing where there is no such cell yet.
func (d *Driver) AppendState(dst []byte, step int, key uint32) []byte {
	if p := d.poolOf(step); p != nil && (p.table != nil || key == 0) {
		if n := p.at(key); n != nil {
			return n.cell.AppendState(dst)
		}
	}
	return dst
}

// Revive gives a step's cell the state that AppendState appended in another process,
// shifted in time and without its waiters and holders. On an error nothing has
// changed. No call of this driver may wait or hold a permit at the cell.
func (d *Driver) Revive(step int, key uint32, src []byte, by time.Duration) error {
	p := d.poolOf(step)
	if p == nil || p.table == nil && key != 0 {
		return reducer.ErrEncoding
	}
	fresh := p.maker.New(d.now)
	if err := fresh.Revive(src, by); err != nil {
		return err
	}
	n := p.one
	if p.table != nil {
		n = d.use(p, key)
	}
	n.cell = fresh
	d.arm(n)
	return nil
}

// Ask does something at a step's cell for the host itself: a Peek, a Tick, a
// Transition, a Reset or a Drain. A Drain creates the cell of a key; of a key without one,
// a new cell answers a Peek and is not kept, and any other action is stale. It returns the cell that
// answered, nil for none.
func (d *Driver) Ask(step int, key uint32, a reducer.Action) (answer reducer.Answer, c cell.Cell) {
	p := d.poolOf(step)
	if p == nil {
		return answer, nil
	}
	if a.Kind == reducer.Peek && d.layout.plan.TakesOne(step) {
		a.Cost = 1
	}
	if a.Kind == reducer.Peek && len(p.barred) > 0 {
		if refused, blocked := p.blocked(key); blocked {
			return refused, nil
		}
	}
	n := p.at(key)
	if n == nil && a.Kind == reducer.Drain && p.table != nil {
		n = d.use(p, key)
	}
	if n == nil && a.Kind == reducer.Peek {
		if n = p.one; n == nil || p.table.Room() {
			c = p.maker.New(d.now)
			return c.Step(a, d.now, nil), c
		}
	}
	if n == nil {
		return answer, nil
	}
	d.step(&answer, n, &a)
	d.catchUp()
	return answer, n.cell
}

// Cell returns the cell of a step for a reader of its state, nil where there is none
// yet. The caller must not step it, except by a Peek, which changes nothing.
func (d *Driver) Cell(step int, key uint32) cell.Cell {
	if p := d.poolOf(step); p != nil {
		if n := p.at(key); n != nil {
			return n.cell
		}
	}
	return nil
}

// Evict forgets the cell of a key, as if the key had not been used for the longest
// time. It returns false, and does nothing, where there is no such cell and where a
// call waits or holds something there.
func (d *Driver) Evict(step int, key uint32) bool {
	p := d.poolOf(step)
	if p == nil || p.table == nil {
		return false
	}
	index, ok := p.table.Find(key)
	if !ok || p.table.Held(index) {
		return false
	}
	d.forget(*p.nodes.At(index))
	last := p.table.Remove(index)
	(*p.nodes.At(last)).index = index
	p.nodes.Remove(index, last)
	return true
}

func (d *Driver) poolOf(step int) *pool {
	if step < 0 || step >= len(d.layout.pools) {
		return nil
	}
	return d.layout.pools[step]
}

// hold keeps the table from evicting the cell while it is held.
func (n *node) hold() {
	if n.index > 0 {
		n.setHeld()
	}
}

// setHeld is hold for the cell of a key, apart from it so that hold is inlined.
func (n *node) setHeld() {
	n.pool.table.Note(n.index, n.cell.Held(), n.pool.blocks)
}

// over reports whether there are more keys than a lowered number allows. A new key
// evicts the keys above it, except those whose cells are held. Where new keys share a
// cell, no key is evicted.
func (p *pool) over() bool {
	return p.table.Len() > p.keys.Keys && p.keys.WhenFull == keyed.FullEvict
}

// arm sets the wakes of a cell, and keeps the table from evicting it while it is
// held.
func (d *Loop) arm(n *node) {
	n.hold()
	due := n.cell.Due()
	if due.Ends != n.end.at || n.end.pos == 0 {
		n.end.step = n.pool.step
		d.heap.set(&n.end, due.Ends)
	}
	if due.Serves == clock.Never {
		d.heap.set(&n.serves, due.Serves)
		return
	}
	next := caller(due.Caller)
	n.serves.step = uint8(next.step())
	n.serves.number = d.calls[next.slot()].number
	// A place that became free earlier is granted now.
	d.heap.set(&n.serves, max(due.Serves, d.now))
}
