// Package script runs the readable tests of the mechanisms. A script is a story
// in a file of datadriven: what happens at which mark, and beside it what the
// machine answers, what that does to others, the state in a line, and the mark
// of the next wake. -rewrite writes the files again; read the difference before
// keeping it.
//
//	new rate=1/1s burst=2
//	----
//	free 2/2
//
//	run
//	0s    acquire id=1 cost=2
//	500ms acquire id=2
//	----
//	0s    acquire id=1 cost=2  admit                     free 0/2
//	500ms acquire id=2         reject rate, retry at 1s  free 0/2
//
// The directives are
//
//   - new: makes a machine of the settings, and a state at the mark at=, 0s
//     without one. A wrong setting prints the constructor's error.
//   - run: one action a line. A line may begin with the mark; without one it
//     is the mark of the line before. An id names the caller, and later its permit
//     or its place in the queue.
//   - configure: makes another machine, which adopts the state at the mark at=.
//   - golden NAME: compares the encoded state with testdata/golden/NAME.hex. Under
//     -rewrite a missing file is written; one that is there never is.
//
// Every step of every script is also checked by the laws of the contract, see check.go, and
// every golden state by the laws of a decoder, see golden.go.
package script
