// Package lint says what follows from a policy document before it runs: the
// pipeline of each policy with its effective settings, the guarantees that hold
// whatever callers and dependencies do, and what is wrong or surprising in it.
//
//	report := lint.Check(doc)
//
// It is arithmetic on the document alone. What it says holds of one policy in
// one process, of calls of cost 1, as long as the policy is not replaced. Times
// hold of attempts that end when a timeout cuts them; an attempt in Go ends when
// its function returns.
//
// # Guarantees
//
// The most requests in any window of length W, both of its ends included, for
// each cell of a limit with a rate of count for each period D:
//
//	token-bucket     burst + floor(W / interval), interval = D / count rounded up
//	fixed-window     count x (floor((W - 1ns) / D) + 2)
//	sliding-counter  floor(count x (W + D - 1ns) / D), at least count
//
// All three are reached by some calls, but for one or two permits of the
// windows where a permit must be spent to begin one. They bound what passes the
// limit. What starts may have passed a while before and waited further down, so
// the window of what starts is longer by that wait, or its bound greater by the
// places of the queues below, whichever gives less. A limit above a retry lets a
// call pass whose attempts follow for as long as a timeout allows. Of several
// limits the least bound counts; a limit with per bounds each of its keys; a step
// in shadow mode bounds nothing.
//
// The longest times are sums over the steps, in which a timeout cuts what stands
// below it. An answer's own retry_after is bounded by nothing but timeouts.
//
// # Findings
//
// A warning is a mistake, or very likely one: a document can be written so that
// it has none. A note is what one should know. Rules names them all. Each finding
// has its reason, and a part of a document that mends it where that can be known.
//
// # Comparison
//
// Compare says what a document changes of another one: each setting of each step,
// whether that is tighter or looser by the settings' own rows, and the guarantees
// that change with it.
//
// The types of Report are the JSON of `sluice lint --json`: fields are added,
// never renamed. Durations are texts in Go's form without idle zeros ("1m30s",
// "1h"), lists are never null, and null is "no bound" or "none".
package lint
