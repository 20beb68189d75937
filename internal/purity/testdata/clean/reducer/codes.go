//go:build sluice_codes

package reducer

// ErrorTexts may depend on a build tag.
const ErrorTexts = false
