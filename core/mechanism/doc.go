// Package mechanism names the mechanisms that a policy is built of. It imports
// nothing, so that each mechanism's folder can say which one it is.
package mechanism
