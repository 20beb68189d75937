// Package condition says which calls a step of a policy applies to, by the attributes of
// the calls: a Condition by their values, a Share by a hash of one of them. A host
// computes both once, at the beginning of a call; the core keeps the result.
//
// A call matches a Condition when it matches one of its cases: every entry of All matches,
// and no entry of None does. An entry matches when the value of
// its attribute is one of Values; what is missing has the empty value. The values of the
// attribute ip are prefixes (RFC 4632, RFC 4291 section 2.3): the whole address of the
// call lies in one of them, however many of its bits are a key.
//
// A Share is stable: a value belongs to it or not, wherever and whenever it is asked, and
// a greater share has all values of a smaller one. Of the attribute ip it is the network, as in a key. The hash is FNV-1a of 32 bits over the
// name of the step, a zero byte and the value, finished as MurmurHash3 does.
//
// Source: Fowler, Noll and Vo, FNV-1a (RFC 9923); Appleby, MurmurHash3 (fmix32);
// policy/REFERENCE.md#calls-that-a-step-applies-to.
package condition
