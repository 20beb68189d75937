//go:build !sluice_codes

package reducer

const errorTexts = true
