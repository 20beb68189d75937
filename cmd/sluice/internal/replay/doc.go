// Package replay decides recorded calls again: calls of a trace, of a log of events, or of
// the access log of a server, under the policy that decided them or under another one.
//
// A recorded call keeps its mark, its key and its attributes. An attempt that was admitted
// when it was recorded takes as long as it took and ends as it ended; an attempt that was
// not made then takes as long, and ends, as the last one of its call, or as Assumed says.
package replay
