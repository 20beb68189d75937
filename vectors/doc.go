// Package vectors holds the conformance vectors: steps of every mechanism, of
// whole policies and of policies that share mechanisms, with digests of what the core made of
// them. Every runtime
// replays the same file and has to come to the same bytes: native Go, wazero,
// wasmtime, V8 in Node, V8 in a browser.
//
// A mechanism joins by registering a suite in suites_test.go; `go test ./vectors
// -rewrite` then writes the file again. A version of the file never changes:
// a file that differs is a new version beside it, so that no change of behaviour goes
// unnoticed.
//
// # The format
//
// The file is compressed with gzip. All integers are little-endian; a varint is as in
// encoding/binary, a signed one is in zigzag form.
//
//	8 bytes    "SLUICEV1"
//	u32        suites, each:
//	  text     name (a varint for the size, the bytes)
//	  varint   policies, each a text: {"steps": [...]} in JSON
//	  u8       kind: 0 steps of a cell, 1 events of a pipeline
//	  u8       index of the step that the cell is of
//	  u32 u32  seed of the pipeline, low and high
//	  varint   steps
//	  text     the steps, one after another
//	  u32 ...  digests: one after every 32 steps, and one after the last
//
// A step of a cell is played by `reduce` of the wasm module's ABI, or what is
// the same natively, from a state that begins empty:
//
//	u8       kind of the action
//	u8       flags
//	signed   the mark, as the difference to the mark before (0 at first)
//	flag 1   varint: cost, else 1
//	flag 2   u8: outcome
//	flag 4   varint n: the permit is the n-th last of those seen, 1 for the last;
//	         seen are permits of answers that admit or wait, and of grants
//	flag 8   24 bytes: the permit
//	flag 16  varint: the permit's mark is so much before the mark of the step
//	flag 32  varint: value, else 0
//	flag 64  signed: the permit's mark is so much after the mark of the step, and a
//	         deadline (flag 1 of the action)
//	flag 128 u8: priority, else 0
//
// Without flags 4 and 8 the permit has the number of the step as its id,
// counted from 0, and is zero else. The digest goes over what reduce leaves in
// the buffer.
//
// The first pipeline has policy 0 and the seed; pipeline n that is joined to it, by join, has
// policy n and the seed whose low word is n more. Where some are joined, observe is on, so that
// the changes of breakers are decisions.
//
// An event of a pipeline:
//
//	u8       0 advance, 1 begin, 2 done, 3 cancel, 4 renew, 5 configure, 6 join
//	u8       flags
//	signed   the mark, as the difference to the mark before
//	u8       the pipeline, where some are joined
//	flag 1   varint: cost, else 1
//	flag 2   u8: outcome of a done
//	flag 4   signed: deadline or retry-after in nanoseconds
//	flag 8   u8: the number of the key of every step with keys, else 0
//	flag 16  u8: the attempt of a done or a renew, else 0
//	flag 32  no attempt of the call that begins starts beside another
//	flag 64  every key lacks the value of an attribute (bit 31)
//	flag 128 of a begin: varint: the set of its attributes; of a done: varint: what was used
//	done, cancel, renew: varint n: the call that began n-th last, 1 for the last
//	configure, join: varint: index of the policy
//
// A join frees the pipeline; one of the policy, with the seed of the one before, is then joined to
// the next pipeline, behind the last to the first, in its place.
//
// The digest goes over the code that is returned, in 4 bytes, and the records
// of decisions; of a join, over the code of free alone. At each digest the states of all cells
// follow: for each pipeline, each step of its plan and each key from 0 to 3 the size in 4 bytes
// and the bytes of `save`.
//
// What attributes say is a host's decision: a runtime with conditions of its own comes to
// the same words from the attributes.
//
// The digest is FNV-1a with 32 bits (RFC 9923), begun once for a suite.
package vectors
