// Package sim says what a policy will do before it runs: it simulates clients, policies
// and services in virtual time. Policies are decided by the code that decides in
// production, so that "does our breaker open?" is a test:
//
//	s, err := sim.Load("retry-storm.yaml")
//	...
//	result, err := sim.Run(s, sim.Options{})
//	...
//	fmt.Println(result.Verdict, result.Client("web").Goodput)
//
// Package simtest has the assertions for tests. The document is described on the page
// sim/REFERENCE.md; its schema is Schema. Equal documents and seeds give equal bytes of
// every output, on every platform.
package sim
