// Package lint analyses a policy document before it runs: the pipeline of each policy
// with its effective settings, the guarantees that hold whatever callers and
// dependencies do, and its mistakes and surprises.
//
//	report := lint.Check(doc)
//
// It computes only from the document. Its results hold for one policy in one process
// and for calls of cost 1, as long as the policy is not replaced. Times hold for
// attempts that end when a timeout cuts them; an attempt in Go ends when its function
// returns.
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
// Some calls reach all three, except for one or two permits of the windows where a
// permit must be spent to begin one. They bound the calls that pass the limit. An
// attempt that starts may have passed earlier and waited at a step below, so the
// window of starts is longer by that wait, or its bound greater by the places of the
// queues below, whichever gives less. A call that passes a limit above a retry may
// start attempts for as long as a timeout allows. Of several limits the least bound
// counts; a limit with per bounds each of its keys; a step in shadow mode bounds
// nothing.
//
// The longest times are sums over the steps, in which a timeout cuts the steps below
// it. Only timeouts bound an answer's own retry_after.
//
// # Findings
//
// A warning is a mistake, or very likely one: a document can be written without it. A
// note is information. Rules names them all. Each finding has its reason and, where
// possible, a part of a document without the finding. The rules about one mechanism alone are
// in its Docs.
//
// # Comparison
//
// Compare lists the changes from one document to another: each setting of each step,
// whether that is tighter or looser by the row of the setting, and the guarantees
// that change with it.
//
// The types of Report are the JSON of `sluice lint --json`: fields are added,
// never renamed. Durations are texts in Go's form without idle zeros ("1m30s",
// "1h"), lists are never null, and null is "no bound" or "none".
package lint
