// Package assert has the assertions of the core: what holds after each step of a machine,
// whatever was asked. Programs are built without them. The build tag sluice_assert switches
// them on: tools/test.sh, race.sh and soak.sh set it, so that every test that steps a machine,
// of the runner, a driver, a binding or the simulator, checks them.
//
// A machine asserts behind the constant On, which costs nothing where it is false:
//
//	if assert.On {
//		m.assert(s)
//	}
//
// What an assertion compares takes the time of a few words, or of a short queue:
// it does not encode a state and allocates nothing. The whole of a state is for Check.
package assert
