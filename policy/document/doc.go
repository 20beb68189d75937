// Package document interprets a tree of nodes as a policy document. REFERENCE.md in package
// policy lists its names, ranges and defaults; most callers use that package.
//
// The package needs neither a YAML library, nor fmt, nor reflection, so that
// every runtime of Sluice reads JSON documents with this very code. Some of them
// are small: there are no maps, no sorting and no tables of Unicode in what
// ParsePolicyJSON and ParseOneJSON need.
package document
