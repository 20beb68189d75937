//go:build sluice_codes

package reducer

// ErrorTexts says that errors say what was found and what is allowed.
const ErrorTexts = false
