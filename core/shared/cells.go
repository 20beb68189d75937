package shared

import (
	"encoding/binary"
	"slices"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/reducer"
)

const (
	// Tries is how often a step is tried while other processes are first.
	Tries = 8
	// GroupSlots is how many slots one value has.
	GroupSlots = 8

	// slotSize is the most bytes of a slot.
	slotSize = slotHead + 2 + StateSize
	// format is the first byte of a value. A version of this package that writes another form
	// has another one, so that two of them can run at once.
	format = 1
	// valueHead is the format and the digest of the configuration.
	valueHead = 1 + 4
	// slotHead is the hash and the time of the last use. The length of the state as a
	// short number follows, and the state.
	slotHead = 16 + 4
)

// config says what the cells of a step are.
type config struct {
	// name is the beginning of the keys of all values of the step.
	name string
	// form and maker are those of kept.
	form  []byte
	maker cell.Maker
	// slots is how many keys have a slot, 0 for a step without keys.
	slots uint32
	// whenFull says what a new key gets where all slots of its group are in use.
	whenFull keyed.WhenFull
	// seed of the hashes.
	seed Seed
	// final says that no permit is ever returned: a state that was read proves a refusal
	// until the mark that it names, without another read. Not of a limit with blocks, whose
	// refusals count.
	final bool
}

// Counts are what one process has counted of the cells of a step.
type Counts struct {
	// Conflicts is how often another process was first.
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

// cells are the cells of a step, as one process has them.
type cells struct {
	counts Counts

	config config
	store  Store
	maker  cell.Maker
	digest uint32
	groups uint32
	ways   int  // slots of a group
	blocks bool // the cells may block
	told   bool // the form is in the store

	// The latest forms that were looked up: as many as a step meets, which may need a group
	// and the spare cell.
	earlier [2]earlier

	turn              turn
	inValue, inGroup  func(old []byte, now clock.Mark) []byte // made once: a closure for each step would be allocated
	key, value, state []byte
	scratch           cell.Cell
	out               reducer.Out
	unwritten         []end
	bars              []bar // by the hash, one for a step without keys; empty unless final
}

// turn is a step of a cell under way: what the change of a value reads and leaves.
type turn struct {
	key    *Key // in a group
	action reducer.Action
	answer reducer.Answer
	now    clock.Mark
	lacks  lack
	wants  uint32 // the digest of lacksForm
	// What is counted once the change is written.
	lost      uint64 // states of an unknown configuration
	evicts    bool   // a key has lost its slot
	unblocked bool   // a block could not begin
}

// lack is what a change needs that its value does not have. It has decided nothing then.
type lack uint8

const (
	// lacksForm: the form of an earlier configuration.
	lacksForm lack = iota + 1
	// lacksTold: the form of this configuration is not in the store yet.
	lacksTold
	// lacksSlot: the group is full, and the spare cell decides.
	lacksSlot
)

// earlier is the form of another configuration. Its maker is nil where the store has no such
// form.
type earlier struct {
	digest uint32
	maker  cell.Maker
}

// end is the end of a permit that could not be written.
type end struct {
	key    Key
	keyed  bool
	action reducer.Action
}

func newCells(store Store, c config) *cells {
	s := &cells{config: c, store: store, maker: c.maker, digest: digestOf(c.form)}
	s.inValue, s.inGroup = s.changeValue, s.changeGroup
	if c.slots > 0 {
		s.ways = int(min(c.slots, GroupSlots))
		s.groups = (c.slots + GroupSlots - 1) / GroupSlots
	}
	s.scratch, s.blocks = s.maker.New(0), cell.Blocks(s.maker)
	if c.final {
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

// Key names the cell of a call at a step with keys.
type Key struct {
	Hash Hash
	// Spare says that the call took its permit at the spare cell.
	Spare bool
}

// keyOf returns the key of the values of a call.
func (s *cells) keyOf(values string) Key { return Key{Hash: s.config.seed.Of(values)} }

// step steps the cell of a key, nil for that of a step without keys. It returns the mark
// of the step. An Acquire that could not be written is refused as shed; another action
// is kept for flush.
func (s *cells) step(key *Key, a reducer.Action) (reducer.Answer, clock.Mark) {
	takes := a.Kind == reducer.Acquire || a.Kind == reducer.TryAcquire
	if takes && len(s.bars) > 0 {
		return s.stepBarred(key, a)
	}
	answer, now, ok := s.try(key, a)
	switch {
	case ok:
	case takes || a.Kind == reducer.Reserve:
		answer = reducer.Rejected(reducer.ReasonShed, clock.Never)
	default:
		e := end{keyed: key != nil, action: a}
		if e.keyed {
			e.key = *key
		}
		s.unwritten = append(s.unwritten, e)
		answer = reducer.Answer{}
	}
	return answer, now
}

// text returns the state of the cell that decided the last step of a key, nil for that of a
// step without keys, in a line for people.
func (s *cells) text(key *Key) string {
	now := s.store.Now()
	if key != nil && !key.Spare {
		s.name(group, s.groupOf(&key.Hash))
		value, _ := s.store.Get(s.key)
		var g slots
		g.read(value)
		if at := g.find(&key.Hash); at >= 0 {
			return s.textOf(g.digest, g.list[at].state, now)
		}
		return cell.Text(s.maker.New(now), now)
	}
	if s.name(one, 0); key != nil {
		s.name(spare, 0)
	}
	value, _ := s.store.Get(s.key)
	if digest, state, ok := opened(value); ok {
		return s.textOf(digest, state, now)
	}
	return cell.Text(s.maker.New(now), now)
}

// textOf returns the text of a state that was read.
func (s *cells) textOf(digest uint32, state []byte, now clock.Mark) string {
	if !s.knows(digest) {
		state = slices.Clone(state) // the store is asked again
		s.learn(digest)
	}
	c, _ := s.restored(digest, state, now)
	return cell.Text(c, now)
}

// flush tries again what could not be written.
func (s *cells) flush() {
	if len(s.unwritten) == 0 {
		return
	}
	rest := s.unwritten[:0]
	for i := range s.unwritten {
		e := &s.unwritten[i]
		key := &e.key
		if !e.keyed {
			key = nil
		}
		if _, _, ok := s.try(key, e.action); !ok {
			rest = append(rest, *e)
		}
	}
	s.unwritten = rest
}

// try is step without what follows from a failure.
func (s *cells) try(key *Key, a reducer.Action) (reducer.Answer, clock.Mark, bool) {
	for i := range s.earlier {
		if s.earlier[i].maker == nil {
			s.earlier[i].digest = s.digest // another process may have written the form meanwhile
		}
	}
	t := &s.turn
	for range Tries {
		*t = turn{action: a}
		var ok bool
		switch {
		case key == nil:
			s.name(one, 0)
			ok = Update(s.store, s.key, s.inValue)
		case key.Spare && !begins(a.Kind):
			s.name(spare, 0)
			ok = Update(s.store, s.key, s.inValue)
		default:
			key.Spare = false
			t.key = key
			s.name(group, s.groupOf(&key.Hash))
			if ok = Update(s.store, s.key, s.inGroup); t.lacks == lacksSlot {
				t.lacks = 0
				s.name(spare, 0)
				if ok = Update(s.store, s.key, s.inValue); ok && t.lacks == 0 {
					s.counts.Shared++
					key.Spare = true
				}
			}
		}
		switch {
		case t.lacks == lacksForm:
			s.learn(t.wants)
		case t.lacks == lacksTold:
			s.tell()
		case ok:
			s.count(t)
			return t.answer, t.now, true
		default:
			s.counts.Conflicts++
		}
	}
	s.counts.Exhausted++
	return t.answer, t.now, false
}

// count counts what a step did whose change is written.
func (s *cells) count(t *turn) {
	s.counts.Lost += t.lost
	if t.evicts {
		s.counts.Evictions++
	}
	if t.unblocked {
		s.counts.Unblocked++
	}
}

// name makes the key of a value.
func (s *cells) name(kind byte, number uint32) {
	s.key = append(append(s.key[:0], s.config.name...), kind)
	if kind != one {
		s.key = binary.LittleEndian.AppendUint32(s.key, number)
	}
}

// The kinds of values.
const (
	one   = '='
	group = '#'
	spare = '*'
	form  = '@'
)

// changeValue steps the cell of a value that has no other.
func (s *cells) changeValue(old []byte, now clock.Mark) []byte {
	t := &s.turn
	t.now = now
	var c cell.Cell
	write := false
	switch digest, state, ok := opened(old); {
	case ok:
		if !s.knows(digest) {
			t.lacks, t.wants = lacksForm, digest
			return nil
		}
		c, write = s.restored(digest, state, now)
	case !begins(t.action.Kind):
		return nil
	default:
		c = s.maker.New(now)
	}
	t.answer = s.decide(c, t.action, now)
	if !t.answer.Changed && !write {
		return nil
	}
	if !s.told {
		t.lacks = lacksTold
		return nil
	}
	s.value = c.AppendState(s.head())
	return s.value
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

func (s *cells) head() []byte {
	return binary.LittleEndian.AppendUint32(append(s.value[:0], format), s.digest)
}

// decide is the step of the core. What ends at the mark or has ended does so before, as in
// the driver of the core, which has a timer for it.
func (s *cells) decide(c cell.Cell, a reducer.Action, now clock.Mark) reducer.Answer {
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
func (s *cells) restored(digest uint32, state []byte, now clock.Mark) (c cell.Cell, changed bool) {
	if digest == s.digest && s.scratch.Restore(state) == nil {
		return s.scratch, false
	}
	if maker := s.makerOf(digest); maker != nil {
		if old := maker.New(now); old.Restore(state) == nil {
			s.out = s.out[:0]
			return cell.Adopt(s.maker, old, now, &s.out), true
		}
	}
	s.turn.lost++
	c = s.maker.New(now)
	// What was admitted under the unknown state counts.
	s.decide(c, reducer.Action{Kind: reducer.Drain}, now)
	return c, true
}

// knows reports whether restored has what it needs for the states of a digest.
func (s *cells) knows(digest uint32) bool {
	return digest == s.digest || digest == s.earlier[0].digest || digest == s.earlier[1].digest
}

// makerOf returns the maker of an earlier configuration, nil for one that is not known.
func (s *cells) makerOf(digest uint32) cell.Maker {
	for i := range s.earlier {
		if s.earlier[i].digest == digest {
			return s.earlier[i].maker
		}
	}
	return nil
}

// learn looks up the form of an earlier configuration.
func (s *cells) learn(digest uint32) {
	s.name(form, digest)
	value, _ := s.store.Get(s.key)
	s.earlier[1], s.earlier[0] = s.earlier[0], earlier{digest: digest}
	if digestOf(value) == digest {
		s.earlier[0].maker = makerOf(slices.Clone(value))
	}
}

// tell writes the form of the configuration, once, for those who meet a state of it later.
func (s *cells) tell() {
	s.told = true
	s.name(form, s.digest)
	s.store.Swap(s.key, s.config.form, Absent)
}
