// Package mechanism names the mechanisms that a policy is built of, and says what
// the row of each of them holds. It imports no mechanism, so that each
// mechanism's folder can have its row; package mechanisms lists the rows.
package mechanism
