package shared

import (
	"encoding/binary"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/reducer"
)

// slot is a slot of a group that was read. The state is part of the value.
type slot struct {
	hash  Hash
	used  uint32 // in ticks
	state []byte
}

// tick is the unit of the last use of a slot, 2^28 ns: 0.27 s. A use that changes
// nothing is written where the last one is rests ticks ago.
const (
	tick  = 28
	rests = 4
)

func tickOf(now clock.Mark) uint32 { return uint32(uint64(now) >> tick) }

// slots is a group that was read.
type slots struct {
	list   [GroupSlots]slot
	count  int
	digest uint32
}

// read reads a group; one that is damaged or of another format is empty.
func (g *slots) read(value []byte) {
	digest, rest, _ := opened(value)
	g.digest = digest
	for ; len(rest) > slotHead && g.count < GroupSlots; g.count++ {
		length, head := binary.Uvarint(rest[slotHead:])
		from := slotHead + head
		if head <= 0 || length > uint64(len(rest)-from) {
			return
		}
		at := &g.list[g.count]
		copy(at.hash[:], rest)
		at.used = binary.LittleEndian.Uint32(rest[16:])
		at.state = rest[from:][:length]
		rest = rest[from+int(length):]
	}
}

func (s *cells) groupOf(hash *Hash) uint32 {
	return uint32(binary.LittleEndian.Uint64(hash[:]) % uint64(s.groups))
}

func (g *slots) find(hash *Hash) int {
	for i := range g.count {
		if g.list[i].hash == *hash {
			return i
		}
	}
	return -1
}

// changeGroup steps the cell of a key.
func (s *cells) changeGroup(old []byte, now clock.Mark) []byte {
	t := &s.turn
	t.now = now
	hash, a := &t.key.Hash, t.action
	var g slots
	g.read(old)
	adopted := g.count > 0 && g.digest != s.digest
	if adopted {
		if !s.knows(g.digest) {
			t.lacks, t.wants = lacksForm, g.digest
			return nil
		}
		s.adopt(&g, now)
	}
	at := g.find(hash)
	known, evicts := at >= 0, false
	switch {
	case known:
	case !begins(a.Kind):
		return nil
	case g.count == s.ways:
		if at, evicts = s.victim(&g, now); at < 0 {
			t.lacks = lacksSlot
			return nil
		}
	}
	if s.blocks && begins(a.Kind) && !s.mayBlock(&g, at, now) {
		a = a.WithoutBlock()
	}
	var c cell.Cell
	if known {
		var lost bool
		c, lost = s.restored(s.digest, g.list[at].state, now)
		adopted = adopted || lost
	} else {
		c = s.maker.New(now)
	}
	t.answer = s.decide(c, a, now)
	t.unblocked = !a.Blocks() && t.answer.Reason == reducer.ReasonRate
	if !t.answer.Changed && !adopted && !s.stale(&g, at, hash, now) {
		return nil
	}
	if !s.told {
		t.lacks = lacksTold
		return nil
	}
	s.state = c.AppendState(s.state[:0])
	if at < 0 {
		at = g.count
		g.count++
	}
	g.list[at] = slot{*hash, tickOf(now), s.state}
	t.evicts = evicts
	return s.write(&g)
}

// stale reports whether the last use of a key is too long ago to be the present one, in a
// group in which that may matter.
func (s *cells) stale(g *slots, at int, hash *Hash, now clock.Mark) bool {
	return at >= 0 && 2*g.count >= s.ways && g.list[at].hash == *hash && tickOf(now)-g.list[at].used >= rests
}

// adopt gives all states of a group the present configuration.
func (s *cells) adopt(g *slots, now clock.Mark) {
	for i := range g.count {
		c, _ := s.restored(g.digest, g.list[i].state, now)
		g.list[i].state = c.AppendState(nil)
	}
}

// victim returns the slot of a full group that a new key takes, -1 for none, and whether
// the key of that slot loses its state. It is the one that keyed.Table would take of as
// many keys, by the times of use that are recorded.
func (s *cells) victim(g *slots, now clock.Mark) (at int, evicts bool) {
	shares := s.config.whenFull == keyed.FullShare
	at, least := -1, int(reducer.Blocked)+2
	for i := range g.count {
		c, _ := s.restored(s.digest, g.list[i].state, now)
		if c.Held() {
			continue
		}
		class, _ := c.Class(now)
		weight := int(class)
		if weight > 0 && shares {
			continue
		}
		if class == reducer.Blocked {
			weight++ // behind those that are not old enough
		} else if !shares && !g.old(i) {
			weight = int(reducer.Blocked)
		}
		if weight < least || weight == least && g.before(i, at) {
			at, least, evicts = i, weight, class != reducer.Unused
		}
	}
	return at, evicts
}

// before reports whether a slot was used before another one.
func (g *slots) before(i, j int) bool {
	age := int32(g.list[i].used - g.list[j].used)
	return age < 0 || age == 0 && i < j
}

// old reports whether the key of a slot of a full group is old enough to give way: with
// the new key, at least half as many were used after it.
func (g *slots) old(i int) bool {
	newer := 1
	for j := range g.count {
		if g.before(i, j) {
			newer++
		}
	}
	return 2*newer >= g.count
}

// mayBlock reports whether the key at a slot may begin a block: half of the slots of a
// group may have one.
func (s *cells) mayBlock(g *slots, at int, now clock.Mark) bool {
	if g.count <= s.ways/2 {
		return s.ways > 1 // they may all have one
	}
	n := 0
	for i := range g.count {
		if i == at {
			continue
		}
		c, _ := s.restored(s.digest, g.list[i].state, now)
		if class, _ := c.Class(now); class == reducer.Blocked {
			n++
		}
	}
	return n < s.ways/2
}

// write makes the value of a group.
func (s *cells) write(g *slots) []byte {
	s.value = s.head()
	for i := range g.count {
		at := &g.list[i]
		s.value = append(s.value, at.hash[:]...)
		s.value = binary.LittleEndian.AppendUint32(s.value, at.used)
		s.value = binary.AppendUvarint(s.value, uint64(len(at.state)))
		s.value = append(s.value, at.state...)
	}
	return s.value
}
