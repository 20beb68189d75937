// Package wire codes the fixed little-endian layout of states.
//
//	version, tag, fields
//
// The version is the version of the whole format and the tag names the mechanism; both
// are a byte. A reader remembers the first error, reads zeros after it, and takes
// bytes left over for an error (G9).
package wire
