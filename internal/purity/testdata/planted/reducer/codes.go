//go:build sluice_codes

package reducer

const ErrorTexts = false

var least = 1
