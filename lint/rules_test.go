package lint_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/lint"
	"github.com/sluice-go/sluice/policy"
)

// check lints a document of one policy p with the steps.
func check(t *testing.T, steps string) lint.Report {
	t.Helper()
	return checkDocument(t, "version: 1\npolicies:\n  p:\n    steps: ["+steps+"]\n")
}

func checkDocument(t *testing.T, src string) lint.Report {
	t.Helper()
	doc, err := policy.Parse("test.yaml", []byte(src))
	if err != nil {
		t.Fatalf("%s\n%v", src, err)
	}
	return lint.Check(doc)
}

// found are the findings of a report, as in "warning order limit".
func found(r lint.Report) []string {
	list := []string{}
	r.All(func(_ *lint.Policy, f *lint.Finding) {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s %s", f.Severity, f.Rule, f.Step)))
	})
	return list
}

// whole is a policy in the usual order without a finding.
const whole = `timeout: 30s}, {retry: {attempts: 2}}, {breaker: {}}, {limit: {rate: 50/1m, burst: 10, wait: 3s}}, {bulkhead: {concurrent: 5, wait: 2s}}, {timeout: {after: 5s, name: attempt}`

// ruleTests has documents that each rule finds, and similar ones that it does not.
var ruleTests = []struct {
	steps string
	want  []string
}{
	{"{" + whole + "}", []string{}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 10}}`, []string{}},

	// Order.
	{`{timeout: 5s}, {bulkhead: 5}, {retry: {attempts: 2, budget: {ratio: 10%, minimum: 0/s}}}, {timeout: {after: 1s, name: t}}`,
		[]string{"warning backoff-holds-permit bulkhead"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9}}, {retry: {attempts: 2, budget: {ratio: 10%, minimum: 0/s}}}, {timeout: {after: 1s, name: t}}`,
		[]string{"warning order limit"}},
	{`{timeout: 5s}, {breaker: {}}, {retry: {attempts: 2, budget: {ratio: 10%, minimum: 0/s}}}, {timeout: {after: 1s, name: t}}`,
		[]string{"warning order breaker"}},
	{`{timeout: 5s}, {bulkhead: {concurrent: 5, shadow: true}}, {retry: {attempts: 2, budget: {ratio: 10%, minimum: 0/s}}}, {timeout: {after: 1s, name: t}}`,
		[]string{"note shadow bulkhead"}},
	{`{timeout: 5s}, {bulkhead: 5}, {limit: {rate: 10/s, burst: 9}}`, []string{"note order bulkhead"}},
	{`{timeout: 5s}, {bulkhead: 5}, {limit: {rate: 10/s, burst: 9, wait: 1s}}`, []string{"warning order bulkhead"}},
	{`{timeout: 5s}, {bulkhead: {concurrent: 5, wait: 1s}}, {limit: {rate: 10/s, burst: 9}}`, []string{"warning order bulkhead"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9}}, {breaker: {}}`, []string{"note order limit"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, wait: 1s}}, {breaker: {}}`, []string{"warning order limit"}},
	{`{timeout: 5s}, {bulkhead: 5}, {breaker: {}}, {limit: {rate: 10/s, burst: 9}}`, []string{"note order bulkhead", "note order bulkhead"}},
	{`{limit: {rate: 10/s, burst: 9, wait: 1s}}, {timeout: 5s}, {retry: {attempts: 2, budget: {ratio: 10%, minimum: 0/s}}}, {timeout: {after: 1s, name: t}}`,
		[]string{"warning order limit", "note order timeout"}},
	{`{timeout: 9s}, {retry: {attempts: 2, budget: {ratio: 10%, minimum: 0/s}}}, {timeout: {after: 2s, name: t}}, {bulkhead: {concurrent: 5, wait: 1s}}`,
		[]string{"note order t"}},

	// Times.
	{`{timeout: 5s}, {timeout: {after: 5s, name: t}}`, []string{"warning timeout-no-effect t"}},
	{`{timeout: 5s}, {timeout: {after: 4999ms, name: t}}`, []string{}},
	{`{timeout: {after: 5s, shadow: true}}, {timeout: {after: 5s, name: t}}`, []string{"note shadow timeout"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, wait: 5s}}`, []string{"warning wait-beyond-timeout limit"}},
	{`{timeout: 5s}, {bulkhead: {concurrent: 5, wait: 6s}}`, []string{"warning wait-beyond-timeout bulkhead"}},
	{`{timeout: 5s}, {bulkhead: {concurrent: 5, queue: 6}}`, []string{}},
	{`{bulkhead: {concurrent: 5, queue: 6}}, {timeout: 5s}`, []string{"warning no-timeout bulkhead"}},
	{`{bulkhead: 5}`, []string{"warning no-timeout"}},
	// Conditions.
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, when: {key: a, not: {key: [a, b]}}}}`, []string{"warning when-never-holds limit"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, when: [{key: a, not: {key: a}}, {key: b}]}}`, []string{"warning when-never-holds limit"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, class: "header:plan", rates: {free: 1/s, pro: 2/s}}}`, []string{}},
	{`{timeout: {after: 5s, enforce: 10%}}, {limit: {rate: 10/s, burst: 9}}`, []string{"note no-timeout"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, enforce: 100%}}`, []string{"note enforce-all limit"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, when: {ip: 10.1.0.0/16, not: {ip: 10.0.0.0/8}}}}`, []string{"warning when-never-holds limit"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, when: {ip: 10.0.0.0/8, not: {ip: 10.0.0.0/9}}}}`, nil},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, when: {ip: 10.0.0.0/8, not: {ip: [10.0.0.0/9, 10.128.0.0/9]}}}}`, []string{"warning when-never-holds limit"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, when: {ip: "2001:db8:1:2::5", not: {ip: "2001:db8:1:2::/65"}}}}`, []string{"warning when-never-holds limit"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, when: {ip: "2001:db8:1:2:8000::5", not: {ip: "2001:db8:1:2::/65"}}}}`, nil},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, when: {ip: "::/0", not: {ip: ["::/1", "8000::/1"]}}}}`, []string{"warning when-never-holds limit"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, when: {ip: 0.0.0.0/0, not: {ip: "::/0"}}}}`, nil},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, when: [{key: a}, {ip: 10.1.0.0/16, not: {ip: 10.0.0.0/8}}]}}`, []string{"warning when-never-holds limit"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, when: {host: [api.test, API.test]}}}`, []string{"warning when-never-holds limit"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, when: {ip: 10.0.0.0/8, not: {ip: 10.1.0.0/16}}}}`, []string{}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, when: [{key: a}, {not: {key: a}}]}}`, []string{"warning condition-always-holds limit"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, when: [{key: [a, b], not: {host: h}}, {host: h}, {not: {key: [a, b], host: h}}]}}`, []string{"warning condition-always-holds limit"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, when: [{key: a}, {not: {key: b}}]}}`, []string{}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, when: [{ip: [0.0.0.0/0, "::/0"]}, {ip: ""}]}}`, []string{}},
	{`{bulkhead: {concurrent: 5, lease: 10s}}`, []string{"note no-timeout", "note lease-runs-out bulkhead"}},
	{`{limit: {rate: 10/s, burst: 9}}`, []string{"note no-timeout"}},
	{`{limit: {rate: 10/s, burst: 9, wait: 1s}}`, []string{"warning no-timeout"}},
	{`{retry: {attempts: 2, budget: {ratio: 10%, minimum: 0/s}}}`, []string{"warning no-timeout"}},
	{`{retry: {attempts: 2, budget: {ratio: 10%, minimum: 0/s}}}, {timeout: 1s}`, []string{"warning no-timeout retry"}},
	{`{timeout: 5s}, {bulkhead: {concurrent: 5, lease: 5s}}`, []string{}},
	{`{timeout: 5s}, {bulkhead: {concurrent: 5, lease: 4s}}`, []string{"note lease-runs-out bulkhead"}},
	{`{timeout: 5s}, {adaptive: {lease: 4s}}`, []string{"note lease-runs-out adaptive"}},
	{`{timeout: 5s}, {adaptive: {lease: 5s, over: 50%}}`, []string{}},
	{`{adaptive: {over: 50%}}, {timeout: 5s}`, []string{}},
	{`{adaptive: {over: 50%}}`, []string{"warning no-timeout", "warning over-share-unknown adaptive"}},
	{`{adaptive: {}}`, []string{"warning no-timeout"}},
	{`{adaptive: {over: 50%}}, {hedge: {after: 1s}}, {timeout: 5s}`, []string{"warning over-share-unknown adaptive"}},

	// Retries.
	{`{timeout: 9s}, {retry: {attempts: 2}}, {timeout: {after: 1s, name: t}}`, []string{"warning retry-unguarded retry"}},
	{`{timeout: 9s}, {retry: {attempts: 2}}, {breaker: {shadow: true}}, {timeout: {after: 1s, name: t}}`,
		[]string{"warning retry-unguarded retry", "note shadow breaker"}},
	{`{timeout: 9s}, {retry: 1}`, []string{"warning retry-no-effect retry"}},
	{`{timeout: {after: 30s, name: t}}, {retry: {refusals: wait, budget: {ratio: 0%, minimum: 1/h}}}, {bulkhead: {concurrent: 5, queue: 0}}, {timeout: 1s}`, []string{"warning refusals-no-effect retry"}},
	{`{timeout: {after: 30s, name: t}}, {retry: {refusals: wait, budget: {ratio: 0%, minimum: 1/h}}}, {breaker: {}}, {timeout: 1s}`, nil},
	{`{retry: {refusals: wait, budget: {ratio: 0%, minimum: 1/h}}}, {breaker: {}}, {timeout: 1s}`, []string{"warning no-timeout"}},
	{`{timeout: 9s}, {retry: {attempts: 2, backoff: none, budget: {ratio: 10%, minimum: 0/s}}}, {timeout: {after: 1s, name: t}}`,
		[]string{"note retry-no-backoff retry"}},
	{`{timeout: 3s}, {retry: {attempts: 4, backoff: {linear: 1s}, jitter: none, budget: {ratio: 10%, minimum: 0/s}}}, {timeout: {after: 1s, name: t}}`,
		[]string{"warning attempt-unreachable retry", "note backoff-no-jitter retry"}},
	{`{timeout: {after: 9s, name: t}}, {retry: {attempts: 3, budget: {ratio: 0%, minimum: 1/h}, max_elapsed: 9s}}, {timeout: 1s}`, []string{"warning max-elapsed-no-effect retry"}},
	{`{timeout: {after: 30s, name: t}}, {retry: {attempts: 3, budget: {ratio: 0%, minimum: 1/h}, max_elapsed: 20s, backoff: {constant: 9s}, jitter: 1%}}, {timeout: 1s}`, nil},
	{`{timeout: {after: 30s, name: t}}, {retry: {attempts: 3, budget: {ratio: 0%, minimum: 1/h}, max_elapsed: 9s, backoff: {constant: 9s}, jitter: equal}}, {timeout: 1s}`, []string{"warning attempt-unreachable retry"}},
	{`{timeout: 3s}, {retry: {attempts: 4, backoff: {constant: 1s}, budget: {ratio: 10%, minimum: 0/s}}}, {timeout: {after: 1s, name: t}}`,
		[]string{"note attempts-may-not-fit retry"}},
	{`{timeout: 3s}, {retry: {attempts: 2, budget: {ratio: 10%, minimum: 0/s}}}`, []string{"note attempts-may-not-fit retry"}},

	{`{timeout: 9h}, {retry: {attempts: 11}}, {breaker: {}}, {timeout: {after: 1s, name: t}}`, []string{"warning retry-many retry"}},
	{`{timeout: 9h}, {retry: {attempts: 10}}, {breaker: {}}, {timeout: {after: 1s, name: t}}`, []string{}},
	{`{timeout: 9s}, {retry: {attempts: 3, backoff: {constant: 9ms}}}, {breaker: {}}, {timeout: {after: 1s, name: t}}`, []string{"warning backoff-short retry"}},
	{`{timeout: 9s}, {retry: {attempts: 3, backoff: {constant: 10ms}}}, {breaker: {}}, {timeout: {after: 1s, name: t}}`, []string{}},
	{`{timeout: 9s}, {retry: {attempts: 3, backoff: {constant: 10ms}, jitter: none}}, {breaker: {}}, {timeout: {after: 1s, name: t}}`, []string{"warning backoff-no-jitter retry"}},
	{`{timeout: 9s}, {retry: {attempts: 3, methods: [GET, POST, PATCH]}}, {breaker: {}}, {timeout: {after: 1s, name: t}}`, []string{"warning retry-unsafe-methods retry"}},
	{`{timeout: 9s}, {hedge: {after: 10ms, methods: POST}}`, []string{"warning retry-unsafe-methods hedge"}},
	{`{timeout: 9s}, {retry: {attempts: 3, methods: [GET, PUT]}}, {breaker: {}}, {timeout: {after: 1s, name: t}}`, []string{}},

	// Budgets.
	{`{timeout: 9s}, {retry: {attempts: 3, budget: 20%}}, {timeout: {after: 1s, name: t}}`, []string{"note budget-floor retry"}},
	{`{timeout: 9s}, {retry: {attempts: 3, budget: {adaptive: 10s}}}, {timeout: {after: 1s, name: t}}`, nil},
	{`{timeout: 9s}, {retry: {attempts: 2, budget: {adaptive: 10s}}}, {timeout: {after: 1s, name: t}}`, []string{"note budget-floor retry"}},
	{`{timeout: 9s}, {retry: {attempts: 3, budget: {tokens: 500}}}, {timeout: {after: 1s, name: t}}`, []string{"note budget-floor retry"}},
	{`{timeout: 9s}, {retry: {attempts: 3, budget: {tokens: 50}}}, {timeout: {after: 1s, name: t}}`, []string{"note budget-floor retry"}},
	{`{timeout: 9s}, {retry: {attempts: 3, budget: {max_tokens: 10, token_ratio: 0.1}}}, {timeout: {after: 1s, name: t}}`, []string{"note budget-floor retry"}},
	{`{timeout: 9s}, {retry: {attempts: 3, budget: {ratio: 10%, minimum: 1/s}}}, {timeout: {after: 1s, name: t}}`, []string{"note budget-floor retry"}},
	{`{timeout: 9s}, {retry: {attempts: 3, budget: {ratio: 10%, minimum: 2/s, window: 30s}}}, {timeout: {after: 1s, name: t}}`, []string{"note budget-floor retry"}},
	{`{timeout: 9s}, {retry: {attempts: 3, budget: 200%}}, {timeout: {after: 1s, name: t}}`, []string{"note budget-floor retry"}},
	{`{timeout: 9s}, {retry: {attempts: 3, budget: 199%}}, {timeout: {after: 1s, name: t}}`, []string{"note budget-floor retry"}},
	{`{timeout: 9s}, {retry: {attempts: 3, budget: 20%}}, {limit: {rate: 50/1m, burst: 10}}, {timeout: {after: 1s, name: t}}`, []string{"warning budget-never-binds retry"}},
	{`{timeout: 9s}, {retry: {attempts: 3, budget: {ratio: 20%, minimum: 1/s}}}, {limit: {rate: 50/1m, burst: 10}}, {timeout: {after: 1s, name: t}}`, []string{"note budget-floor retry"}},

	{`{timeout: 9s}, {retry: {attempts: 3, budget: {tokens: 10}}}, {timeout: {after: 1s, name: t}}`, []string{"warning budget-one-call retry"}},
	{`{timeout: 9s}, {retry: {attempts: 3, budget: {tokens: 15}}}, {timeout: {after: 1s, name: t}}`, []string{"note budget-floor retry"}},
	{`{timeout: 9s}, {retry: {attempts: 4, budget: {max_tokens: 7, token_ratio: 0.1}}}, {timeout: {after: 1s, name: t}}`, []string{"warning budget-one-call retry"}},
	{`{timeout: 9s}, {retry: {attempts: 4, budget: {max_tokens: 2, token_ratio: 0.1}}}, {timeout: {after: 1s, name: t}}`, []string{"note budget-floor retry"}},
	{`{timeout: 9s}, {retry: {attempts: 3, budget: {adaptive: 10s, wait: 1s}}}, {limit: {rate: 10/s, burst: 9, wait: 1s}}, {timeout: {after: 1s, name: t}}`, []string{"note budget-wait-late retry"}},
	{`{timeout: 9s}, {retry: {attempts: 3, budget: {adaptive: 10s, wait: 999ms}}}, {limit: {rate: 10/s, burst: 9, wait: 1s}}, {timeout: {after: 1s, name: t}}`, nil},

	// Breakers.
	{`{breaker: {initial: forced-open}}, {timeout: 5s}`, []string{"warning breaker-forced breaker"}},
	{`{breaker: {initial: metrics-only}}, {timeout: 5s}`, []string{"note breaker-forced breaker"}},
	{`{breaker: {initial: half-open}}, {timeout: 5s}`, []string{}},
	{`{timeout: 9s}, {retry: {attempts: 2}}, {breaker: {initial: forced-closed}}, {timeout: {after: 1s, name: t}}`, []string{"warning retry-unguarded retry", "note breaker-forced breaker"}},
	{`{breaker: {slow: {over: 6s, consecutive: 3}}}, {timeout: 5s}`, []string{"warning slow-beyond-timeout breaker"}},
	{`{breaker: {slow: {over: 1s, consecutive: 1}}}, {timeout: 5s}`, []string{"warning breaker-hasty breaker"}},
	{`{breaker: {slow: {over: 1s, consecutive: 2}}}, {timeout: 5s}`, []string{}},
	{`{breaker: {window: {calls: 10}, minimum: 4, slow: {over: 1s, rate: 30%, consecutive: 4}}}, {timeout: 5s}`, []string{"note slow-consecutive-late breaker"}},
	{`{breaker: {window: {calls: 10}, minimum: 4, slow: {over: 1s, rate: 30%, consecutive: 3}}}, {timeout: 5s}`, []string{}},
	{`{breaker: {window: {calls: 10}, minimum: 4, slow: {over: 1s, rate: 50%, consecutive: 5}}}, {timeout: 5s}`, []string{"note slow-consecutive-late breaker"}},
	{`{breaker: {obey_retry_after: 61m}}, {timeout: 5s}`, []string{"warning retry-after-long breaker"}},
	{`{breaker: {obey_retry_after: 1h}}, {timeout: 5s}`, []string{}},
	{`{breaker: {ramp: {over: 4s}}}, {timeout: 5s}`, []string{"note ramp-brief breaker"}},
	{`{breaker: {ramp: {over: 5s}}}, {timeout: 5s}`, []string{}},
	{`{breaker: {window: {consecutive: 2, forget: 5s}}}, {timeout: 5s}`, []string{"note forget-brief breaker"}},
	{`{breaker: {window: {consecutive: 2, forget: 5001ms}}}, {timeout: 5s}`, []string{}},
	{`{breaker: {window: {consecutive: 1}, open: 1s}}, {timeout: 5s}`, []string{"warning breaker-hasty breaker"}},
	{`{breaker: {minimum: 1, open: {exponential: 1s}}}, {timeout: 5s}`, []string{"warning breaker-hasty breaker"}},
	{`{breaker: {window: {time: 10s}, minimum: 1}}, {timeout: 5s}`, []string{"warning breaker-hasty breaker"}},
	{`{breaker: {window: {consecutive: 1}, open: 999ms}}, {timeout: 5s}`, []string{}},
	{`{breaker: {window: {consecutive: 2}, open: 1h}}, {timeout: 5s}`, []string{}},
	{`{breaker: {open: 99ms}}, {timeout: 5s}`, []string{"warning breaker-brief breaker"}},
	{`{breaker: {open: 100ms}}, {timeout: 5s}`, []string{}},
	{`{breaker: {open: {exponential: 1ms, max: 10s}}}, {timeout: 5s}`, []string{}},
	{`{breaker: {slow: {over: 5s, rate: 50%}}}, {timeout: 5s}`, []string{"warning slow-beyond-timeout breaker"}},
	{`{breaker: {slow: {over: 4s, rate: 50%}}}, {timeout: 5s}`, []string{}},
	{`{breaker: {window: {time: 10s}}}, {limit: {rate: 50/1m, burst: 10}}, {timeout: 5s}`, []string{"warning breaker-never-opens breaker"}},
	{`{breaker: {window: {time: 10s}, minimum: 20}}, {limit: {rate: 50/1m, burst: 10}}, {timeout: 5s}`, []string{}},
	{`{breaker: {window: {time: 10s}}}, {limit: {rate: 50/1m, burst: 10, per: key}}, {timeout: 5s}`, []string{}},

	// Limits.
	{`{limit: 50/1m}, {timeout: 5s}`, []string{"note burst-default limit"}},
	{`{limit: {rate: 50/1m, burst: 50}}, {timeout: 5s}`, []string{}},
	{`{limit: {rate: 50/1m, algorithm: fixed-window}}, {timeout: 5s}`, []string{}},
	{`{limit: {rate: 300000007/1s, burst: 10}}, {timeout: 5s}`, []string{"warning interval-rounded limit"}},
	{`{limit: {rate: 7/1s, burst: 10}}, {timeout: 5s}`, []string{}},

	{`{limit: {rate: 1/s, burst: 1, per: key, block: 999ms}}, {timeout: 5s}`, []string{"warning block-brief limit"}},
	{`{limit: {rate: 1/s, burst: 1, per: key, block: {after: 3, for: {exponential: 100ms, max: 500ms}}}}, {timeout: 5s}`, []string{"warning block-brief limit"}},
	{`{limit: {rate: 1/s, burst: 1, per: key, block: 1s}}, {timeout: 5s}`, []string{}},
	{`{limit: {rate: 1/s, algorithm: fixed-window, per: key, block: 1ms}}, {timeout: 5s}`, []string{}},
	{`{limit: {rate: 1/s, burst: 1, block: 1s}}, {timeout: 5s}`, []string{"note block-of-all limit"}},
	{`{limit: {rate: 1/s, warm_up: 3s}}, {timeout: 5s}`, []string{"warning warm-up-undone limit"}},
	{`{limit: {rate: 1/s, burst: 1, warm_up: 4s}}, {timeout: 5s}`, []string{}},
	{`{limit: {rate: 10/s, burst: 10, warm_up: 3s}}, {timeout: 5s}`, []string{"warning warm-up-undone limit"}},
	{`{limit: {rate: 10/s, burst: 9, warm_up: 3s}}, {timeout: 5s}`, []string{}},
	{`{limit: {rate: 1/h, burst: 1, warm_up: {over: 2h, factor: 2}}}, {timeout: 5s}`, []string{"warning warm-up-undone limit"}},

	{`{limit: {rate: 10/s, burst: 10}}, {limit: {name: b, rate: 100/s}}, {timeout: 5s}`, []string{"warning limit-never-binds b", "note burst-default b"}},
	{`{limit: {rate: 10/s, burst: 10}}, {limit: {name: b, rate: 100/m, burst: 10}}, {timeout: 5s}`, []string{}},
	{`{limit: {rate: 100/s, burst: 100}}, {limit: {name: b, rate: 10/s, burst: 10}}, {timeout: 5s}`, []string{}},
	{`{limit: {rate: 10/s, burst: 10, per: ip}}, {limit: {name: b, rate: 100/s, burst: 10}}, {timeout: 5s}`, []string{"note key-is-address limit"}},
	{`{limit: {rate: 10/s, burst: 10}}, {limit: {name: b, rate: 10/s, burst: 10, per: key}}, {timeout: 5s}`, []string{"warning limit-never-binds b"}},
	{`{limit: {rate: 10/s, algorithm: fixed-window}}, {limit: {name: b, rate: 10/s, burst: 20}}, {timeout: 5s}`, []string{"warning limit-never-binds b"}},
	{`{limit: {rate: 10/s, algorithm: fixed-window}}, {limit: {name: b, rate: 10/s, burst: 19}}, {timeout: 5s}`, []string{}},
	{`{limit: {rate: 10/s, burst: 1}}, {limit: {name: b, algorithm: leaky-bucket, rate: 10/s}}, {timeout: 5s}`, []string{"warning limit-never-binds b"}},
	{`{limit: {rate: 10/s, burst: 2}}, {limit: {name: b, algorithm: leaky-bucket, rate: 10/s}}, {timeout: 5s}`, []string{}},
	{`{limit: {rate: 10/s, burst: 10}}, {limit: {name: b, algorithm: sliding-log, rate: 19/s}}, {timeout: 5s}`, []string{"warning limit-never-binds b"}},
	{`{limit: {rate: 10/s, burst: 10}}, {limit: {name: b, algorithm: sliding-counter, rate: 29/s}}, {timeout: 5s}`, []string{"warning limit-never-binds b"}},
	{`{limit: {rate: 10/s, burst: 10}}, {limit: {name: b, algorithm: sliding-counter, rate: 28/s}}, {timeout: 5s}`, []string{}},

	// Queues.
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 10, wait: 3s}}, {bulkhead: {concurrent: 5, wait: 2s}}`, []string{"warning waits-beyond-timeout timeout"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 10, wait: 3s}}, {bulkhead: {concurrent: 5, wait: 1999ms}}`, []string{}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 10, wait: 1s, queue: 11}}`, []string{"warning queue-too-long limit"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 10, wait: 1s, queue: 10}}`, []string{}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 10, wait: 1s, queue: 11, order: newest}}`, []string{}},
	{`{timeout: 5s}, {bulkhead: {concurrent: 5, wait: 1s, queue: 5001}}`, []string{"warning queue-too-long bulkhead"}},
	{`{timeout: 5s}, {bulkhead: {concurrent: 5, wait: 1s, queue: 5000}}`, []string{}},
	{`{timeout: 5s}, {bulkhead: 10001}`, []string{"warning bulkhead-huge bulkhead"}},
	{`{timeout: 5s}, {bulkhead: 10000}`, []string{}},

	// Keys.
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, per: "header:x-tenant"}}`, []string{"warning key-chosen-by-client limit"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, per: [route, "cookie:sid"]}}`, []string{"warning key-chosen-by-client limit"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, per: [ip, "cookie:sid"]}}`, []string{"note key-is-address limit"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, per: "query:user"}}, {bulkhead: 5}`, []string{"note key-chosen-by-client limit"}},
	{`{timeout: 5s}, {bulkhead: {concurrent: 5, per: path}}`, []string{"warning key-chosen-by-client bulkhead"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, per: "header:x-tenant", shadow: true}}`, []string{"note shadow limit"}},
	{`{timeout: 5s}, {breaker: {per: "header:x-tenant"}}`, []string{}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, per: [ip, "header:x-tenant"], missing: skip}}`, []string{"warning key-skipped limit", "note key-is-address limit"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, per: "header:x-tenant", missing: skip}}, {bulkhead: 5}`, []string{"note key-skipped limit", "note key-chosen-by-client limit"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, per: key, missing: skip}}`, []string{}},
	{`{timeout: 5s}, {limit: {name: a, rate: 10/s, burst: 9, cost: 1}}, {limit: {name: b, rate: 20/s, burst: 9, cost: 1}}`, []string{"warning limit-never-binds b"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, cost: 2, charge: end}}`, []string{"warning charge-unbounded limit"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, cost: 2, charge: end}}, {bulkhead: 5}`, []string{}},
	{`{timeout: 5s}, {limit: {name: a, rate: 10/s, counts: fail}}, {limit: {name: b, rate: 20/s, burst: 9}}`, []string{}},
	{`{timeout: 5s}, {bulkhead: {concurrent: 9, cost: "header:x-size"}}`, []string{"note cost-chosen-by-client bulkhead"}},
	{`{timeout: 5s}, {adaptive: {maximum: 9, cost: "header:x-size"}}`, []string{"note cost-chosen-by-client adaptive"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, cost: "header:x-cost"}}`, []string{"warning cost-chosen-by-client limit"}},
	{`{timeout: 5s}, {limit: {name: a, rate: 10/s, burst: 9, cost: "header:x-a"}}, {limit: {name: b, rate: 20/s, burst: 9, cost: "header:x-b"}}`, []string{"warning cost-chosen-by-client a", "warning cost-chosen-by-client b"}},
	{`{timeout: 5s}, {limit: {name: a, rate: 100/s, burst: 90, cost: "header:x-cost"}}, {limit: {name: b, rate: 10/s, burst: 9, cost: 1}}`, []string{"note cost-chosen-by-client a"}},
	{`{timeout: 5s}, {limit: {rate: 10/s, burst: 9, cost: "header:x-cost", shadow: true}}`, []string{"note shadow limit"}},

	// Chaos.
	{`{timeout: 5s}, {chaos: {fail: 0.0001%}}`, []string{"warning chaos chaos"}},
	{`{timeout: 5s}, {chaos: {fail: 0%, slow: {rate: 5%, by: 1s}, name: drill}}`, []string{"warning chaos drill"}},
	{`{timeout: 5s}, {chaos: {throttle: {rate: 1%}}}`, []string{"warning chaos chaos"}},
	{`{timeout: 5s}, {chaos: {ignore: 1%}}`, []string{"warning chaos chaos"}},
	{`{timeout: 5s}, {chaos: {fail: 5%, shadow: true}}`, []string{"note shadow chaos"}},
	{`{timeout: 5s}, {chaos: {fail: 0%, throttle: {rate: 0%}, slow: {rate: 0%, by: 1s}}}`, []string{}},

	// Names.
	{`{limit: {rate: 5/s, burst: 1}}, {limit: {rate: 50/m, burst: 1}}, {timeout: 5s}`, []string{"warning unnamed limit-2"}},
	{`{limit: {rate: 5/s, burst: 1}}, {limit: {rate: 50/m, burst: 1, name: minute}}, {timeout: 5s}`, []string{}},
	{`{timeout: 6s}, {timeout: 5s}`, []string{"note unnamed timeout-2"}},
	{`{timeout: {after: 6s, shadow: true}}, {timeout: {after: 5s, name: t}}`, []string{"note shadow timeout"}},
}

// documentTests are ruleTests about more than steps.
var documentTests = []struct {
	document string
	want     []string
}{
	{"policies: {used: {steps: [{timeout: 1s}]}, other: {steps: [{timeout: 1s}]}}\nroutes: [{path: /**, policy: used}]", []string{"note unused"}},
	{"policies: {used: {extends: base, change: [{timeout: 2s}]}, base: {steps: [{timeout: 1s}]}}\nroutes: [{path: /**, policy: used}]", []string{}},
	{"defaults: {timeout: {soft: 1ms}, retry: 5, limit: {wait: 1s}}\npolicies: {a: {pass: true}, b: {steps: [{timeout: 1s}, {limit: {rate: 5/s, burst: 1, defaults: false}}]}}", []string{"note unused-defaults", "note unused-defaults"}},
	{"mechanisms: {a: {timeout: 1s}, b: {timeout: 1s}}\npolicies: {p: {steps: [{use: b}]}}", []string{"note unused-mechanism"}},
	{"policies: {used: {steps: [{timeout: 1s}]}, other: {steps: [{timeout: 1s}]}}\nhttp: {default: other}\nroutes: [{path: /x, policy: used}]", []string{}},
	{"mechanisms: {a: {bulkhead: {concurrent: 1, queue: 5}}, b: {bulkhead: {concurrent: 1, queue: 5}}}\npolicies: {p: {steps: [{timeout: 9s}, {use: a}, {use: b}]}, q: {steps: [{timeout: 9s}, {use: b}, {use: a}]}}", []string{"warning places-crossed b", "warning places-crossed a"}},
	{"mechanisms: {a: {bulkhead: {concurrent: 1, queue: 5, wait: 1s}}, b: {bulkhead: {concurrent: 1, queue: 5, wait: 2s}}}\npolicies: {p: {steps: [{timeout: 9s}, {use: a}, {use: b}]}, q: {steps: [{timeout: 9s}, {use: b}, {use: a}]}}", []string{"warning places-crossed b", "warning places-crossed a"}},
	{"mechanisms: {a: {bulkhead: {concurrent: 1, queue: 5}}, b: {bulkhead: {concurrent: 1, queue: 5}}}\npolicies: {p: {steps: [{timeout: 9s}, {use: a}, {use: b}]}, q: {steps: [{timeout: 9s}, {use: a}, {use: b}]}}", []string{}},
	{"mechanisms: {a: {bulkhead: 1}, b: {bulkhead: {concurrent: 1, queue: 5}}}\npolicies: {p: {steps: [{timeout: 9s}, {use: a}, {use: b}]}, q: {steps: [{timeout: 9s}, {use: b}, {use: a}]}}", []string{}},
	{"mechanisms: {a: {bulkhead: {concurrent: 1, queue: 5}}, b: {bulkhead: {concurrent: 1, queue: 5}}, c: {bulkhead: {concurrent: 1, queue: 5}}}\npolicies: {p: {steps: [{timeout: 9s}, {use: a}, {use: b}]}, q: {steps: [{timeout: 9s}, {use: b}, {use: c}]}, r: {steps: [{timeout: 9s}, {use: c}, {use: a}]}}", []string{"warning places-crossed b", "warning places-crossed c", "warning places-crossed a"}},
	{"policies: {p: {steps: [{timeout: 1s}]}}\nroutes: [{path: /**, policy: p}, {path: /admin, policy: p}]", []string{"warning route-unreachable"}},
	{"policies: {p: {steps: [{timeout: 1s}]}, q: {steps: [{timeout: 2s}]}}\nroutes: [{path: /a, policy: p}, {path: /a, policy: q}, {path: /**, policy: q}]", []string{"warning route-unreachable"}},
	{"policies: {p: {steps: [{timeout: 1s}]}}\nroutes: [{path: /a/*, policy: p}, {path: /b, policy: p}, {path: /a/x, method: GET, policy: p}, {path: /**, policy: p}]", []string{"warning route-unreachable"}},
	{"policies: {p: {steps: [{timeout: 1s}]}}\nroutes: [{path: /a%00, policy: p}, {path: /**, policy: p, http: {paths: exact_bytes}}]", []string{"warning route-unreachable"}},
	{"policies: {p: {steps: [{timeout: 1s}]}}\nroutes: [{path: /**, method: GET, policy: p}, {path: /admin, policy: p}]", []string{"warning no-default-route"}},
	{"policies: {p: {steps: [{timeout: 1s}], deny: {'cookie:session': old}}}\nroutes: [{path: /shop.v1.Orders/*, policy: p}]\nhttp: {default: deny}", []string{"warning grpc-attribute"}},
	{"policies: {p: {steps: [{timeout: 1s}, {limit: {rate: 5/s, burst: 1, per: [ip, 'query:tenant']}}]}}\nroutes: [{path: /shop.Orders/Get, policy: p}, {path: /shop.Orders/list, policy: p}, {path: /v1.0/Users, policy: p}, {path: /**, policy: p}]",
		[]string{"note key-is-address limit", "warning grpc-attribute"}},
	{"policies: {p: {steps: [{timeout: 1s}, {limit: {rate: 5/s, burst: 1, per: [key, 'header:x-tenant']}}]}}\nroutes: [{path: /shop.Orders/*, policy: p}]\nhttp: {default: pass}", []string{}},
	{"policies: {p: {steps: [{timeout: 1s}]}}\nroutes: [{path: /**, host: a.b, policy: p}]\nhttp: {default: pass}", []string{}},
	{"policies: {p: {steps: [{timeout: 1s}], allow: {header:x-internal: '1'}}}", []string{"warning allow-chosen-by-client"}},
	{"policies: {p: {steps: [{timeout: 1s}], allow: [{header:x-internal: '1', ip: 10.0.0.0/8}, {key: a}]}}", []string{}},
	{"policies: {p: {steps: [{timeout: 1s}], allow: {key: a, ip: 10.1.0.0/16}, deny: {ip: 10.0.0.0/8}}}", []string{"warning allow-denied"}},
	{"policies: {p: {steps: [{timeout: 1s}], allow: [{key: a}, {key: b}], deny: [{key: [b, c], not: {host: h}}, {host: h}]}}", []string{"warning allow-denied"}},
	{"policies: {p: {steps: [{timeout: 1s}], allow: {key: a}, deny: {ip: 10.0.0.0/8}}}", []string{}},
	{"policies: {p: {steps: [{timeout: 1s}], deny: [{key: a}, {not: {key: a}}]}}", []string{"warning condition-always-holds"}},
	{"policies: {p: {steps: [{timeout: 1s}], allow: [{key: a}, {not: {key: [a, b]}}, {key: b}]}}", []string{"warning condition-always-holds"}},
	{"policies: {p: {steps: [{timeout: 1s}], allow: {key: a, not: {key: a}}}}", []string{"warning when-never-holds"}},
	{"policies: {p: {steps: [{timeout: {after: 1s, when: {key: a}}}], allow: {key: a}}}", []string{"warning when-never-holds timeout", "note no-timeout"}},
	{"policies: {p: {steps: [{timeout: 1s}], fallback: {status: 200}}}", []string{"warning fallback-success"}},
	{"policies: {p: {steps: [{timeout: 1s}], fallback: {}}}", []string{}},
	{"policies: {p: {steps: [{timeout: 1s}], outcomes: {fail: [5xx, 200, 3xx]}}}", []string{"warning outcomes-inverted"}},
	{"policies: {p: {steps: [{timeout: 1s}], outcomes: {throttle: [429, 204]}}}", []string{"warning outcomes-inverted"}},
	{"policies: {p: {steps: [{timeout: 1s}], outcomes: {ignore: [4xx, 503, reset]}}}", []string{"warning outcomes-inverted"}},
	{"policies: {p: {steps: [{timeout: 1m}, {limit: {rate: 5/s, wait: 1s, queue: 3, burst: 1, name: a}}, {limit: {rate: 8/4s, wait: 1s, algorithm: fixed-window, queue: 3, name: b}}, {bulkhead: {concurrent: 3, queue: 2, wait: 1s}}]}}\nproxy: {slots: 5}",
		[]string{"note proxy-wait a", "note proxy-wait b", "note proxy-wait bulkhead"}},
	{"policies: {p: {steps: [{timeout: 1s}], outcomes: {fail: [502, 503, 504, connect, reset, 404], ignore: [4xx, 501]}}}", []string{}},
}

// TestRules checks the findings, and that every rule has a finding with each of its
// severities.
func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, test := range ruleTests {
		got := found(check(t, test.steps))
		if !slices.Equal(got, test.want) {
			t.Errorf("%s:\n got %q\nwant %q", test.steps, got, test.want)
		}
		for _, one := range got {
			words := strings.Fields(one)
			seen[words[0]+" "+words[1]] = true
		}
	}
	for _, test := range documentTests {
		got := found(checkDocument(t, "version: 1\n"+test.document))
		if !slices.Equal(got, test.want) {
			t.Errorf("%s:\n got %q\nwant %q", test.document, got, test.want)
		}
		for _, one := range got {
			seen[strings.Join(strings.Fields(one)[:2], " ")] = true
		}
	}
	for _, info := range lint.Rules() {
		for _, severity := range info.Severities {
			if what := fmt.Sprintf("%s %s", severity, info.Rule); !seen[what] {
				t.Errorf("no test finds a %s", what)
			} else {
				delete(seen, what)
			}
		}
	}
	for what := range seen {
		t.Errorf("%s is not in Rules", what)
	}
}

// TestGoodDocuments lints every valid document, extreme ones included.
func TestGoodDocuments(t *testing.T) {
	documents, err := filepath.Glob("../policy/testdata/good/*")
	if err != nil || len(documents) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	for _, file := range documents {
		doc := load(t, file)
		r := lint.Check(doc)
		if len(r.Policies) != len(doc.Policies) {
			t.Errorf("%s: %d of %d policies", file, len(r.Policies), len(doc.Policies))
		}
		if text, err := json.Marshal(r); err != nil || regexp.MustCompile(`:"-\d`).Match(text) {
			t.Errorf("%s: %v: %s", file, err, text)
		}
	}
}

// TestAllow makes notes of warnings.
func TestAllow(t *testing.T) {
	r := check(t, `{bulkhead: 5}, {limit: 5/s}`)
	if r.Count(lint.Warning) != 1 || r.Count(lint.Note) != 2 {
		t.Fatalf("got %q", found(r))
	}
	r.Allow(lint.NoTimeout)
	if r.Count(lint.Warning) != 0 || r.Count(lint.Note) != 3 {
		t.Errorf("got %q", found(r))
	}
}

// TestSentences checks the texts about attempts and about a rate without a burst.
func TestSentences(t *testing.T) {
	r := check(t, `{retry: 3}, {limit: 50/1m}`)
	all := ""
	for _, f := range r.Policies[0].Findings {
		all += f.Message + "\n"
	}
	for _, want := range []string{"50/1m without a burst lets 100 pass in the worst minute", "multiply its load by 3"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in\n%s", want, all)
		}
	}
}

// TestHedge checks the bounds with a hedge, and its description.
func TestHedge(t *testing.T) {
	for steps, want := range map[string]struct {
		settings      string
		attempts      uint32
		minute        uint64
		before, inAll lint.Duration
		held          lint.Duration
	}{
		// The calls that passed in the minute or waited a second when it began,
		// and a further attempt of those that passed up to 10s before.
		`{timeout: 10s}, {limit: {rate: 1/s, burst: 1}}, {hedge: {after: 200ms}}, {limit: {rate: 1000/s, wait: 1s}}`: {
			"1 further attempt, each after 200ms", 2, 62 + 71, 1e9, 2e9, 10e9,
		},
		`{retry: {attempts: 3, backoff: none}}, {hedge: {parallel: true, max: 4, budget: 10%}}, {timeout: 2s}`: {
			"4 further attempts at once, budget 10%, 10/1s at least, over 10s", 15, 0, 0, 0, 6e9,
		},
		`{hedge: {after: p99.9, max: 2, samples: 50, minimum: 5, budget: none, methods: [POST]}}, {timeout: 1s}`: {
			"2 further attempts, each after p99.9 of the last 50 durations, from 5 on, no budget, methods POST", 3, 0, 0, 0, 3e9,
		},
	} {
		p := check(t, steps).Policies[0]
		i := slices.IndexFunc(p.Steps, func(s lint.Step) bool { return s.Mechanism == "hedge" })
		if got := p.Steps[i].Settings; got != want.settings {
			t.Errorf("%s: got %q", steps, got)
		}
		if p.Steps[i].EachAttempt != (i > 0 && p.Steps[0].Mechanism == "retry") || !p.Steps[len(p.Steps)-1].EachAttempt {
			t.Errorf("%s: each attempt passes the steps below the hedge", steps)
		}
		g := p.Guarantees
		if g.Attempts.Most != want.attempts || *g.WaitBeforeAttempt.Longest != want.before || *g.WaitInAll.Longest != want.inAll || *g.Held.Longest != want.held {
			t.Errorf("%s: got %+v, %s, %s, %s", steps, g.Attempts, *g.WaitBeforeAttempt.Longest, *g.WaitInAll.Longest, *g.Held.Longest)
		}
		minute := g.Requests.Started[0].Most.Minute
		if minute == nil && want.minute != 0 || minute != nil && *minute != want.minute {
			t.Errorf("%s: got %v a minute", steps, *minute)
		}
	}
}

// TestDuration checks the short form.
func TestDuration(t *testing.T) {
	for d, want := range map[lint.Duration]string{
		0: "0s", 60e9: "1m", 3600e9: "1h", 90e9: "1m30s", 5400e9: "1h30m", 3610e9: "1h0m10s", 10e9: "10s", 1500e6: "1.5s", 36000e9: "10h", 600e9: "10m",
	} {
		if got := d.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
