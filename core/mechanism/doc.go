// Package mechanism names the mechanisms that a policy is built of, and says what
// each of them tells about itself: Row to readers of documents, Facts to programs that
// run policies, Docs to people and to lint. It imports no mechanism, so that each
// mechanism's folder can have its row; package mechanisms lists the rows. A setting is added
// in declared of the mechanism's config.go, and make generate writes what follows from it.
package mechanism
