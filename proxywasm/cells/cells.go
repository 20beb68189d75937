package cells

import (
	"encoding/binary"
	"slices"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/reducer"
)

const (
	// Tries is how often a step is tried while other workers are first.
	Tries = 8
	// GroupSlots is how many slots one value has.
	GroupSlots = 8
	// StateSize is the most bytes of the state of a cell of a step with keys, and SlotSize
	// those of its slot.
	StateSize = 1000
	SlotSize  = slotHead + 2 + StateSize

	// format is the first byte of a value. A module that writes another form has
	// another one, so that two of them can run at once.
	format = 1
	// valueHead is the format and the digest of the configuration.
	valueHead = 1 + 4
	// slotHead is the hash and the time of the last use. The length of the state as a
	// short number follows, and the state.
	slotHead = 16 + 4
)

// Config says what the cells of a step are.
type Config struct {
	// Name is the beginning of the keys of all values of the step.
	Name string
	// Form is the step in the bytes of Form.
	Form []byte
	// Slots is how many keys have a slot, 0 for a step without keys.
	Slots uint32
	// WhenFull says what a new key gets where all slots of its group are in use.
	WhenFull keyed.WhenFull
	// Seed of the hashes.
	Seed Seed
	// Final says that no permit is ever returned: a state that was read proves a refusal
	// until the mark that it names, without another read. Not of a limit with blocks, whose
	// refusals count.
	Final bool
}

// Counts are counted since the cells were made.
type Counts struct {
	// Conflicts is how often another worker was first.
	Conflicts uint64
	// Exhausted is how many steps were refused or put off after Tries attempts.
	Exhausted uint64
	// Evictions is how many keys lost their slots, and Shared how many steps used the
	// spare cell.
	Evictions, Shared uint64
	// Unblocked is how many refusals over a rate could begin no block, because half of
	// the slots of a group have one.
	Unblocked uint64
	// Lost is how many states had an unknown configuration.
	Lost uint64
}

// Cells are the cells of a step, as one worker has them.
type Cells struct {
	Counts Counts

	config  Config
	store   Store
	maker   cell.Maker
	digest  uint32
	groups  uint32
	ways    int  // slots of a group
	blocks  bool // the cells may block
	told    bool
	earlier uint32     // the digest of earlierMaker
	before  cell.Maker // of an earlier configuration

	key, value, state []byte
	scratch           cell.Cell
	out               reducer.Out
	pending           []pending
	bars              []bar // by the hash, one for a step without keys; empty unless Final
}

// pending is the end of a permit that could not be written.
type pending struct {
	key    Key
	keyed  bool
	action reducer.Action
}

// New returns the cells of a step.
func New(store Store, c Config) *Cells {
	s := &Cells{config: c, store: store, maker: Maker(c.Form), digest: digestOf(c.Form)}
	if c.Slots > 0 {
		s.ways = int(min(c.Slots, GroupSlots))
		s.groups = (c.Slots + GroupSlots - 1) / GroupSlots
	}
	s.scratch, s.blocks = s.maker.New(0), cell.Blocks(s.maker)
	if c.Final {
		s.bars = make([]bar, 1)
		if s.groups > 0 {
			s.bars = make([]bar, keyedBars)
		}
	}
	return s
}

// digestOf is FNV-1a.
func digestOf(src []byte) uint32 {
	h := uint32(2166136261)
	for _, b := range src {
		h = (h ^ uint32(b)) * 16777619
	}
	return h
}

// Key names the cell of a request at a step with keys.
type Key struct {
	Hash Hash
	// Spare says that the request took its permit at the spare cell.
	Spare bool
}

// KeyOf returns the key of the values of a request.
func (s *Cells) KeyOf(values string) Key { return Key{Hash: s.config.Seed.Of(values)} }

// Step steps the cell of a key, nil for that of a step without keys. It returns the mark
// of the step. An Acquire that could not be written is refused as shed; another action
// is kept for Flush.
func (s *Cells) Step(key *Key, a reducer.Action) (reducer.Answer, clock.Mark) {
	takes := a.Kind == reducer.Acquire || a.Kind == reducer.TryAcquire
	if takes && len(s.bars) > 0 {
		return s.stepBarred(key, a)
	}
	answer, now, ok := s.step(key, a)
	switch {
	case ok:
	case takes || a.Kind == reducer.Reserve:
		answer = reducer.Rejected(reducer.ReasonShed, clock.Never)
	default:
		p := pending{keyed: key != nil, action: a}
		if p.keyed {
			p.key = *key
		}
		s.pending = append(s.pending, p)
		answer = reducer.Answer{}
	}
	return answer, now
}

// Text returns the state of the cell that decided the last step of a key, nil for that of a
// step without keys, in a line for people.
func (s *Cells) Text(key *Key) string {
	now := s.store.Now()
	if key != nil && !key.Spare {
		s.name(group, s.groupOf(&key.Hash))
		value, _, _ := s.store.Get(s.key)
		var g slots
		g.read(value)
		if at := g.find(&key.Hash); at >= 0 {
			c, _ := s.restored(g.digest, g.list[at].state, now)
			return cell.Text(c, now)
		}
		return cell.Text(s.maker.New(now), now)
	}
	if s.name(one, 0); key != nil {
		s.name(spare, 0)
	}
	value, _, _ := s.store.Get(s.key)
	if digest, state, ok := opened(value); ok {
		c, _ := s.restored(digest, state, now)
		return cell.Text(c, now)
	}
	return cell.Text(s.maker.New(now), now)
}

// Flush tries again what could not be written.
func (s *Cells) Flush() {
	if len(s.pending) == 0 {
		return
	}
	rest := s.pending[:0]
	for i := range s.pending {
		p := &s.pending[i]
		key := &p.key
		if !p.keyed {
			key = nil
		}
		if _, _, ok := s.step(key, p.action); !ok {
			rest = append(rest, *p)
		}
	}
	s.pending = rest
}

// step is Step without what follows from a failure.
func (s *Cells) step(key *Key, a reducer.Action) (answer reducer.Answer, now clock.Mark, ok bool) {
	for range Tries {
		if key == nil {
			answer, now, ok = s.stepOne(a)
		} else {
			answer, now, ok = s.stepKey(key, a)
		}
		if ok {
			return answer, now, true
		}
		s.Counts.Conflicts++
	}
	s.Counts.Exhausted++
	return answer, now, false
}

// name makes the key of a value.
func (s *Cells) name(kind byte, number uint32) {
	s.key = append(append(s.key[:0], s.config.Name...), kind)
	if kind != one {
		s.key = binary.LittleEndian.AppendUint32(s.key, number)
	}
}

// The kinds of values.
const (
	one        = '='
	group      = '#'
	spare      = '*'
	configKind = '@'
)

// stepOne steps the one cell of a step.
func (s *Cells) stepOne(a reducer.Action) (reducer.Answer, clock.Mark, bool) {
	s.name(one, 0)
	return s.stepValue(a)
}

// stepValue steps the cell of a value that has no other.
func (s *Cells) stepValue(a reducer.Action) (answer reducer.Answer, now clock.Mark, ok bool) {
	value, change, found := s.store.Get(s.key)
	// The clock is read after the state: an earlier mark would refuse what is admitted.
	now = s.store.Now()
	var c cell.Cell
	write := false
	if !found {
		change = Absent
	}
	switch digest, state, ok := opened(value); {
	case ok:
		c, write = s.restored(digest, state, now)
	case !begins(a.Kind):
		return answer, now, true
	default:
		c = s.maker.New(now)
	}
	answer = s.decide(c, a, now)
	if !answer.Changed && !write {
		return answer, now, true
	}
	s.tell()
	s.value = c.AppendState(s.head())
	return answer, now, s.store.Set(s.key, s.value, change)
}

// opened returns the digest of the configuration and what is behind the head of a value,
// and false for a value that is absent, damaged or of another format.
func opened(value []byte) (digest uint32, rest []byte, ok bool) {
	if len(value) < valueHead || value[0] != format {
		return 0, nil, false
	}
	return binary.LittleEndian.Uint32(value[1:]), value[valueHead:], true
}

// begins reports whether an action makes a cell that is not there.
func begins(k reducer.Kind) bool {
	return k == reducer.Acquire || k == reducer.TryAcquire || k == reducer.Reserve || k == reducer.Peek
}

func (s *Cells) head() []byte {
	return binary.LittleEndian.AppendUint32(append(s.value[:0], format), s.digest)
}

// decide is the step of the core. What ends at the mark or has ended does so before, as in
// the driver of the core, which has a timer for it.
func (s *Cells) decide(c cell.Cell, a reducer.Action, now clock.Mark) reducer.Answer {
	ended := false
	if c.Due().Ends <= now {
		s.out = s.out[:0]
		ended = c.Step(reducer.Action{Kind: reducer.Tick}, now, &s.out).Changed
	}
	s.out = s.out[:0]
	answer := c.Step(a, now, &s.out)
	answer.Changed = answer.Changed || ended
	return answer
}

// restored returns the cell of a state that was made under the configuration of a digest,
// and whether the state has to be written because that was another one.
func (s *Cells) restored(digest uint32, state []byte, now clock.Mark) (c cell.Cell, changed bool) {
	if digest == s.digest && s.scratch.Restore(state) == nil {
		return s.scratch, false
	}
	if digest != s.digest {
		// Get invalidates the value.
		state = slices.Clone(state)
		if maker := s.makerOf(digest); maker != nil {
			if old := maker.New(now); old.Restore(state) == nil {
				s.out = s.out[:0]
				return cell.Adopt(s.maker, old, now, &s.out), true
			}
		}
	}
	s.Counts.Lost++
	c = s.maker.New(now)
	// What was admitted under the unknown state counts.
	s.decide(c, reducer.Action{Kind: reducer.Drain}, now)
	return c, true
}

// makerOf returns the maker of an earlier configuration, nil where it is unknown.
func (s *Cells) makerOf(digest uint32) cell.Maker {
	if s.earlier == digest && s.before != nil {
		return s.before
	}
	key := s.key
	s.key = nil
	s.name(configKind, digest)
	value, _, ok := s.store.Get(s.key)
	s.key = key
	if !ok || digestOf(value) != digest {
		return nil
	}
	s.earlier, s.before = digest, Maker(slices.Clone(value))
	return s.before
}

// tell writes the configuration, once, for those who meet a state of it later.
func (s *Cells) tell() {
	if s.told {
		return
	}
	s.told = true
	key := s.key
	s.key = nil
	s.name(configKind, s.digest)
	s.store.Set(s.key, s.config.Form, Absent)
	s.key = key
}
