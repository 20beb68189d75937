// Package shared is the host of calls whose cells several processes share by a store of bytes:
// the workers of a proxy by its shared data, the instances of a service by a database. It reads
// no clock, holds no lock and starts no goroutine: the store has the values and the time.
//
//	caller --Begin, Vote, End, Tick--> Host --plan--> cells --Update--> Store
//
// A Process is one of those that share a store. Its Host of a policy decides calls as the driver
// of package drive does, by the same plan. Where to read: store.go has the seam, Store and Update;
// cells.go a step of one value, group.go one of a key; bar.go refusals without a read; host.go the
// way of a call; lease.go the leases of a process; form.go which steps a store can keep.
//
// # The seam
//
// Everything that is written goes through Update: it reads a value and the clock, lets a pure
// function of both make the new bytes, and writes them unless another process has written
// meanwhile. Then nothing has changed, and the step is tried again, at most Tries times. A new
// store needs Get, Swap and Now. The function depends on its arguments alone: it returns nil and
// names what it lacks where it needs another value (the form of an earlier configuration, the
// spare cell), so that it never waits inside.
//
// A store that answers later, or fails, is not a Store yet. It fits the same seam: what a step has
// to keep while it waits is its turn (cells.go), the function runs when the bytes have come, and
// the plan gets the answer as an event. A process may combine several steps of one value by
// applying their functions one after another to the bytes of one read.
//
// # What is stored
//
// A step without keys has one value, of at most the size of its state and 5 bytes. One with keys
// has a fixed number of slots, in groups of GroupSlots, each of which is one value: a new key, its
// state and what it takes the place of change in one write, so that two keys never share a slot and
// no key has two. The group of a key follows from a hash of 128 bits with a seed that the processes
// share; the slot has the hash. A group takes at most GroupSlots times StateSize and 22 bytes, and
// 5. Each configuration has a value with its plan bytes, by which a process with another
// configuration adopts its states. Nothing is ever deleted, so the size of a store is bounded by
// the slots and the configurations; a value that a store forgets begins anew, so a store may let
// values of cells expire that were not written for longer than the policy remembers. The values of
// configurations and of the seed are written once: they must not expire while a process uses them.
//
// A new key in a full group takes the slot of a key whose cell is as a new one; without
// such a key the slot of the key used longest ago which holds no place and has no probe
// out, which is counted; without such a key it uses a spare cell that all such keys
// share, which is counted too. So a key loses its cell only when every other slot of its
// group has a key that was used after it or holds something. A recorded use may be two
// seconds older than the last one.
//
// # What it costs
//
//	admission, end, vote        one read and one write for each step that changes
//	refusal                     one read; none while a refusal that was read still holds, at a
//	                            limit or breaker below which no step refuses
//	wait at a limit             as an admission, and one read and write for the reservation
//	first write of a process    one read and one write more, for the configuration
//	new key in a full group     one read and one write more, if all slots hold something
//	lost write                  the step once more
//	leases                      one read and one write for each cell with places, three times a lease
//
// # Guarantees
//
// By their names in GUARANTEES.md where they have one:
//
//	| name | what holds                                                                 | held by                   |
//	|------|----------------------------------------------------------------------------|---------------------------|
//	|      | steps of all processes answer as steps of one cell, in the order of writes | TestWorkersDecideAsOne    |
//	|      | hosts decide together as one driver, but for waits and leases              | TestHostsAsDriver         |
//	|      | no limit and no bulkhead admits more, however many writes are lost         | TestConcurrentProcesses   |
//	| M4   | a call that a later step refuses returns exactly what it took              | TestConcurrentProcesses   |
//	|      | an end that could not be written is tried again until it is                | TestExhausted             |
//	|      | a wait at a limit is a reservation; none moves up when another leaves      | TestReservations          |
//	| G16  | processes of different configurations count each other's permits           | TestConfigurations        |
//	|      | places of a process that ended are free after its lease, and no others     | TestLeases                |
//	| G23  | a key loses its slot to keys that were used later, or to none              | TestEvictionBound         |
//	| G10  | values are bounded by the slots                                            | TestBounds                |
//	| G9   | bytes that something else has written are an unknown state, and no panic   | FuzzValues                |
//
// A state that cannot be read admits nothing until what it may have admitted is over; an acquire
// that cannot be written is refused as shed, and counted. What a limit loses is the state of a key
// whose slot was taken: it begins anew.
package shared
