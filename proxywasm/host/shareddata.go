package host

import (
	"maps"
	"slices"
)

// cell is a value of shared data.
type cell struct {
	value string
	cas   uint32
}

// SharedData returns a value of the shared data of a VM id and its compare-and-set
// number; false when the key was never set.
func (p *Process) SharedData(vmID, key string) (value []byte, cas uint32, ok bool) {
	c, ok := p.data[vmID][key]
	return []byte(c.value), c.cas, ok
}

// SharedKeys returns the keys of a VM id, sorted.
func (p *Process) SharedKeys(vmID string) []string {
	return slices.Sorted(maps.Keys(p.data[vmID]))
}

// SetSharedData does what proxy_set_shared_data does for a guest of the VM id:
// with cas 0 it overwrites; with another cas it is CASMismatch when the key exists
// with another number, and a key that does not exist takes any cas. The number of
// the new value comes from one counter for the process, which starts at 1 and
// leaves out 0. Source: SharedData::set of proxy-wasm-cpp-host.
func (p *Process) SetSharedData(vmID, key string, value []byte, cas uint32) Status {
	cells := p.data[vmID]
	if cells == nil {
		cells = map[string]cell{}
		p.data[vmID] = cells
	}
	if old, ok := cells[key]; ok && cas != 0 && cas != old.cas {
		return CASMismatch
	}
	cells[key] = cell{string(value), p.cas}
	if p.cas++; p.cas == 0 {
		p.cas++
	}
	return OK
}

// SetNextCAS sets the counter of the compare-and-set numbers, so that a test can
// see it wrap. 0 stands for 1.
func (p *Process) SetNextCAS(next uint32) { p.cas = max(next, 1) }

func getSharedData(c *call) uint32 {
	key, ok := c.text(0)
	if !ok {
		return uint32(InvalidMemoryAccess)
	}
	found, ok := c.vm.process.data[c.vm.base.vm.ID][key]
	if !ok {
		return uint32(NotFound)
	}
	if status := c.give(found.value, 2); status != OK {
		return uint32(status)
	}
	if !c.put32(c.arg(4), found.cas) {
		return uint32(InvalidMemoryAccess)
	}
	return uint32(OK)
}

func setSharedData(c *call) uint32 {
	key, ok := c.text(0)
	value, ok2 := c.text(2)
	if !ok || !ok2 {
		return uint32(InvalidMemoryAccess)
	}
	return uint32(c.vm.process.SetSharedData(c.vm.base.vm.ID, key, []byte(value), c.arg(4)))
}

// queueName names a shared queue.
type queueName struct{ vmID, name string }

// queue is a shared queue. Messages are announced to the root that registered it
// last.
type queue struct {
	vmKey    string
	context  uint32
	thread   *thread
	messages []string
}

type queues struct {
	next uint32
	ids  map[queueName]uint32
	byID map[uint32]*queue
}

// forget drops the data and the queues of a VM id, whose last VM has gone.
func (p *Process) forget(vmID string) {
	delete(p.data, vmID)
	maps.DeleteFunc(p.queues.ids, func(name queueName, id uint32) bool {
		if name.vmID == vmID {
			delete(p.queues.byID, id)
		}
		return name.vmID == vmID
	})
}

func registerSharedQueue(c *call) uint32 {
	name, ok := c.text(0)
	if !ok {
		return uint32(InvalidMemoryAccess)
	}
	q := &c.vm.process.queues
	key := queueName{c.vm.base.vm.ID, name}
	if q.ids[key] == 0 {
		q.ids[key] = q.next
		q.byID[q.next] = &queue{}
		q.next++
	}
	found := q.byID[q.ids[key]]
	found.vmKey, found.context, found.thread = c.vm.base.key, c.context().root.id, c.vm.thread
	if !c.put32(c.arg(2), q.ids[key]) {
		return uint32(InvalidMemoryAccess)
	}
	return uint32(OK)
}

func resolveSharedQueue(c *call) uint32 {
	vmID, ok := c.text(0)
	name, ok2 := c.text(2)
	if !ok || !ok2 {
		return uint32(InvalidMemoryAccess)
	}
	if vmID == "" {
		vmID = c.vm.base.vm.ID
	}
	id := c.vm.process.queues.ids[queueName{vmID, name}]
	if id == 0 {
		return uint32(NotFound)
	}
	if !c.put32(c.arg(4), id) {
		return uint32(InvalidMemoryAccess)
	}
	return uint32(OK)
}

func enqueueSharedQueue(c *call) uint32 {
	message, ok := c.text(1)
	if !ok {
		return uint32(InvalidMemoryAccess)
	}
	id := c.arg(0)
	q := c.vm.process.queues.byID[id]
	if q == nil {
		return uint32(NotFound)
	}
	q.messages = append(q.messages, message)
	t, key, context := q.thread, q.vmKey, q.context
	c.vm.process.post(func() {
		if v := t.vms[key]; v != nil {
			if root := v.contexts[context]; root != nil {
				root.notify("proxy_on_queue_ready", uint64(id))
			}
		}
	})
	return uint32(OK)
}

func dequeueSharedQueue(c *call) uint32 {
	q := c.vm.process.queues.byID[c.arg(0)]
	switch {
	case q == nil:
		return uint32(NotFound)
	case len(q.messages) == 0:
		return uint32(Empty)
	}
	message := q.messages[0]
	q.messages = q.messages[1:]
	return uint32(c.give(message, 1))
}
