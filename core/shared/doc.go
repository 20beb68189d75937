// Package shared keeps the cells of a step in a store that several workers share, which
// has compare-and-set and nothing else: the shared data of Envoy. A step of a cell reads
// the state, lets the core decide, and writes the state back unless another worker has written
// meanwhile; otherwise it reads again.
//
// # What is stored
//
// A step without keys has one value. One with keys has a fixed number of slots, in
// groups of GroupSlots, each of which is one value: a new key, its state and what it
// takes the place of change in one compare-and-set, so that two keys never share a slot
// and no key has two. The group of a key follows from a hash of 128 bits with a seed
// that the workers share; the slot has the hash. Nothing is ever deleted from a store,
// so its size is bounded by the slots alone.
//
// A new key in a full group takes the slot of a key whose cell is as a new one; without
// such a key that of the key used longest ago which holds no place and has no probe
// out, which is counted; without such a key it uses a spare cell that all such keys
// share, which is counted too. So a key loses its cell only when every other slot of its
// group has a key that was used after it or holds something. A recorded use may be two
// seconds older than the last one.
//
// # The error
//
// A limit never admits more than its rate and burst: a state that could not be read or
// written admits nothing. After Tries attempts the step is refused as shed, and
// counted. The end of a permit that could not be written is kept and tried again, see
// Flush. What a limit loses is the state of a key whose slot was taken: it begins anew.
package shared
