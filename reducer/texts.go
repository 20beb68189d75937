//go:build !sluice_codes

package reducer

// ErrorTexts says that errors say what was found and what is allowed. A program that
// is built with the tag sluice_codes has no such texts: its errors only name the
// field. Small WebAssembly modules are built so, whose hosts have the texts.
const ErrorTexts = true
