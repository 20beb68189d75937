// Package abi implements the exports of the wasm module: objects named by
// handles, slots at fixed places through which numbers go in and out, and one
// buffer for bytes. It does not depend on wasm, so that tests and fuzzing run it
// natively; the folder entry beside it exports it. ABI.md in the folder above is the
// host's side of it.
//
// A Module never panics on what a host gives it: a wrong handle, size, number or
// document is answered by a code and a text.
package abi

//go:generate go run ./gen
