// Package sluiceprometheus exports what Sluice policies decide, and the state of their
// steps, to Prometheus. The metrics have the same names as in sluice serve; docs/observability.md
// has the table, a dashboard and rules for alerts.
//
//	set, err := sluice.Load("policy.yaml")
//	collector := sluiceprometheus.New()
//	defer collector.AddSet(set)()
//	prometheus.MustRegister(collector)
//
// Every call costs two atomic additions for each of its decisions, and two for its
// duration. State is read when Prometheus scrapes. No label has a caller's key, because
// the number of keys has no bound.
package sluiceprometheus
