// Package simtest has assertions about scenarios for tests: "does our breaker open?",
// "does a retry storm end?".
//
//	func TestVendorPolicy(t *testing.T) {
//		runs := simtest.Run(t, simtest.Load(t, "testdata/brownout.yaml"), simtest.Seeds(1, 2, 3))
//		runs.RequireRecovers(30 * time.Second)
//		runs.RequireMaxAmplification(1.3)
//		runs.Service("vendor").RequireNeverExceeds(100, time.Second)
//	}
//
// A requirement that a run does not meet ends the test. The failure has what was
// required and found, the seed, and the scenario shrunken to the fewest events that
// fail in the same way, with these events one a line. The same is written to files in
// the directory of the test's artifacts.
//
// Drive runs the same scenarios against real code in the virtual time of
// testing/synctest: the clients of the scenario call a function of the test, and its
// services are http.Handlers, http.RoundTrippers and functions that this code calls.
// What comes of it is the same result, for the same assertions.
//
// The documents are the same as in package sim; the guide is docs/testing-your-code.md.
package simtest
