package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy/document"
)

// checkMethods finds retries and hedges of methods that are not idempotent.
func checkMethods(a *analysis) {
	for i := range a.steps {
		var methods []string
		most := uint64(0)
		switch i {
		case a.retry:
			methods, most = a.policy.Methods, a.repeats(i-1)
		case a.hedge:
			methods, most = a.policy.HedgeMethods, uint64(a.hedges)+1
		}
		unsafe := slices.DeleteFunc(slices.Clone(methods), func(m string) bool { return slices.Contains(document.DefaultMethods(), m) })
		if len(unsafe) == 0 {
			continue
		}
		safe := slices.DeleteFunc(slices.Clone(methods), func(m string) bool { return slices.Contains(unsafe, m) })
		if len(safe) == 0 {
			safe = document.DefaultMethods()
		}
		verb := "is"
		if len(unsafe) > 1 {
			verb = "are"
		}
		a.find(Warning, UnsafeMethods, i, fmt.Sprintf("%s %s not idempotent: one request can be carried out %d times; a request with an Idempotency-Key is repeated without being named here", strings.Join(unsafe, " and "), verb, most),
			fmt.Sprintf("%s: {methods: [%s]}", a.steps[i].Kind(), strings.Join(safe, ", ")))
	}
}

// checkOutcomes finds answers in the wrong class.
func checkOutcomes(a *analysis) {
	o := a.policy.Outcomes
	good := func(c document.Class) []string {
		return entries(c, func(status int) bool { return status < 400 }, false)
	}
	wrong := func(rest []string, class, what string) {
		if len(rest) > 0 {
			mended := document.Outcomes{Fail: without(o.Fail, true), Throttle: without(o.Throttle, true), Ignore: without(o.Ignore, false)}
			a.find(Warning, Outcomes, -1, fmt.Sprintf("%s in %s: %s", strings.Join(rest, ", "), class, what),
				fmt.Sprintf("outcomes: {fail: %s, throttle: %s, ignore: %s}", list(mended.Fail), list(mended.Throttle), list(mended.Ignore)))
		}
	}
	times := "counts as a failure of the dependency"
	if a.attempts > 1 {
		times = fmt.Sprintf("is sent up to %d times and counts as a failure of the dependency each time", a.repeats(-1))
	}
	wrong(good(o.Fail), "fail", "a request that succeeds "+times)
	wrong(good(o.Throttle), "throttle", "a request that succeeds counts as a refusal by the dependency and is retried")
	wrong(entries(o.Ignore, isFault, true), "ignore", "no breaker counts an answer by which the dependency says that it fails, and it is not retried")
}

// isFault reports whether a status says that the server fails. 501 and 505 say that
// the server will never support the request, 511 that a network asks for a login.
func isFault(status int) bool {
	return status >= 500 && status != 501 && status != 505 && status != 511
}

// entries returns the entries of a class whose status is wrong, and its failures.
func entries(c document.Class, wrong func(status int) bool, failures bool) []string {
	var list []string
	for _, status := range c.Codes {
		if wrong(status) {
			list = append(list, strconv.Itoa(status))
		}
	}
	for _, hundred := range c.Hundreds {
		if wrong(hundred * 100) {
			list = append(list, strconv.Itoa(hundred)+"xx")
		}
	}
	for _, f := range c.Failures {
		if failures {
			list = append(list, string(f))
		}
	}
	return list
}

// without returns a class without its wrong entries: successes, or faults.
func without(c document.Class, good bool) document.Class {
	wrong := isFault
	if good {
		wrong = func(status int) bool { return status < 400 }
	} else {
		c.Failures = nil
	}
	c.Codes = slices.DeleteFunc(slices.Clone(c.Codes), wrong)
	c.Hundreds = slices.DeleteFunc(slices.Clone(c.Hundreds), func(hundred int) bool { return wrong(hundred * 100) })
	return c
}

// list writes a class as a document does.
func list(c document.Class) string {
	return "[" + strings.Join(entries(c, func(int) bool { return true }, true), ", ") + "]"
}

// checkFallback finds fallbacks that look like answers.
func checkFallback(a *analysis) {
	f := a.policy.Fallback
	if f == nil || f.Status >= 400 {
		return
	}
	a.find(Warning, FallbackSuccess, -1, fmt.Sprintf("every refusal and failure is answered with %d: a log or a monitor counts 0 errors while all calls fail", f.Status),
		fmt.Sprintf("fallback: {status: 503, body: %s}", strconv.Quote(f.Body)))
}

// checkKeys finds limits that clients can multiply, and those that all clients of a
// load balancer share.
func checkKeys(a *analysis) {
	for i := range a.steps {
		s := &a.steps[i]
		if s.Shadow || !a.bounds(i) {
			continue
		}
		if slices.Contains(s.Per, "ip") {
			a.find(Note, AddressKey, i, fmt.Sprintf("%s counts by the address of the peer: behind a load balancer that is the balancer's; name its prefixes (serve --trusted-proxies or --proxy-protocol, nethttp.WithTrustedProxies). Envoy names the peer with use_remote_address: true alone, and the client in front of so many hops with xff_num_trusted_hops (sluice envoy --bootstrap --trusted-hops); else it is what a client writes in X-Forwarded-For", s.Name), "")
		}
		severity := Warning
		if a.bounded(i) {
			severity = Note
		}
		if j := slices.IndexFunc(s.Per, isChosen); j >= 0 && s.Missing == pipeline.MissingSkip {
			a.find(severity, SkippedKey, i, fmt.Sprintf("a request without %s passes %s without being counted", s.Per[j], s.Name), fmt.Sprintf("%s: {missing: deny}", s.Kind()))
		}
		switch cost := a.cost(i); {
		case cost == "":
		case a.rows[i].Traits.Has(mechanism.Holds):
			a.find(Note, ChosenCost, i, fmt.Sprintf("a client that sends %s itself says how many places its calls take at %s, at least one", cost, s.Name), "")
		default:
			mended := ""
			if severity == Warning {
				mended = a.another(i, "calls", "cost: 1")
			}
			a.find(severity, ChosenCost, i, fmt.Sprintf("a client that sends %s itself says what its calls cost at %s, also nothing", cost, s.Name), mended)
		}
		if len(s.Per) == 0 || !slices.ContainsFunc(s.Per, isChosen) || slices.ContainsFunc(s.Per, isGiven) {
			continue
		}
		keys := uint64(s.Keys)
		if keys == 0 {
			keys = pipeline.DefaultKeys
		}
		message := fmt.Sprintf("a client that invents values of %s gets a new cell for each", strings.Join(s.Per, " and "))
		mended := ""
		if a.docs[i].AtOnce != nil {
			most := a.docs[i].AtOnce(s.Config)
			message += fmt.Sprintf(": %d permits at once from %d cells of %d", multiply(keys, most), keys, most)
			mended = a.another(i, "by-address", "per: ip")
		} else if most, ok := a.concurrentAt(i); ok {
			message += fmt.Sprintf(": %d places from %d cells of %d", multiply(keys, most), keys, most)
			mended = fmt.Sprintf("- bulkhead: {name: by-address, concurrent: %d, per: ip}", most)
		}
		if severity == Note {
			mended = ""
		}
		a.find(severity, ChosenKey, i, message, mended)
	}
}

// concurrentAt returns how many may hold a permit of a cell of a step at once, and false where
// more may run or permits are not held.
func (a *analysis) concurrentAt(i int) (uint64, bool) {
	if a.docs[i].Concurrent == nil {
		return 0, false
	}
	return a.docs[i].Concurrent(a.steps[i].Config)
}

// bounds reports whether a step bounds the number of calls.
func (a *analysis) bounds(i int) bool {
	return a.rows[i].Traits.Has(mechanism.Asks) && (a.docs[i].Admits != nil || a.docs[i].Concurrent != nil)
}

// another is a step with the rate of a step, under another name and with another setting,
// empty where the step has no rate.
func (a *analysis) another(i int, name, setting string) string {
	row, permits := a.rows[i], a.facts[i].Permits
	if permits == nil {
		return ""
	}
	p := permits(a.steps[i].Config)
	return fmt.Sprintf("- %s: {name: %s, %s: %s, %s}", row.Kind, name, row.Short, mechanism.RateText(p.Count, p.Period), setting)
}

// bounded reports whether another step that bounds calls as they start has cells, and a
// cost, that a client cannot choose.
func (a *analysis) bounded(i int) bool {
	for j := range a.steps {
		s := &a.steps[j]
		if j == i || s.Shadow || !a.bounds(j) || a.rows[j].Traits.Has(mechanism.Quotas) && a.cost(j) != "" {
			continue
		}
		if late := a.docs[j].Late; (late == nil || !late(s.Config)) && (len(s.Per) == 0 || slices.ContainsFunc(s.Per, isGiven)) {
			return true
		}
	}
	return false
}

// isChosen reports whether a client can choose the value of an attribute.
func isChosen(attribute string) bool { return strings.Contains(attribute, ":") || attribute == "path" }

// isGiven reports whether a client has only one value, or few values, of an
// attribute.
func isGiven(attribute string) bool { return attribute == "ip" || attribute == "key" }
