//go:build !sluice_assert

package assert

// On says that assertions hold or panic. A program that is built without the tag
// sluice_assert has none.
const On = false
