//go:build sluice_assert

package assert

// On says that assertions hold or panic.
const On = true
