// Package attempt holds the context of one attempt of a call, and the clock by
// which it ends. It is for the runner alone.
//
// A [Context] costs 32 bytes and has no timer until Done is called: Deadline and Err
// compare marks. After that it has one of a pool of timers, which keep running
// between attempts, so that most attempts start none. Contexts derived from it need
// no goroutine.
package attempt
