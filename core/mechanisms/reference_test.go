package mechanisms_test

import (
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
)

// page returns the tables of policy/REFERENCE.md with the settings of each mechanism:
// the range and the default of each setting, as they are written.
func page(t *testing.T) map[string]map[string][2]string {
	t.Helper()
	src, err := os.ReadFile("../../policy/REFERENCE.md")
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]map[string][2]string{}
	name := ""
	for line := range strings.Lines(string(src)) {
		if after, ok := strings.CutPrefix(line, "<!-- settings of "); ok {
			name, _, _ = strings.Cut(after, " ")
			tables[name] = map[string][2]string{}
		}
		if cells := strings.Split(line, "|"); name != "" && len(cells) > 4 && strings.HasPrefix(line, "| `") {
			tables[name][strings.Trim(cells[1], " `")] = [2]string{strings.TrimSpace(cells[3]), strings.TrimSpace(cells[4])}
		}
		if strings.HasPrefix(line, "<!-- end") {
			name = ""
		}
	}
	return tables
}

func read(t *testing.T, step string) (*document.Policy, pipeline.Step, error) {
	t.Helper()
	parsed, err := policy.ParseOne("step.yaml", []byte("steps: [{"+step+"}]"))
	if err != nil {
		return nil, pipeline.Step{}, err
	}
	plan, err := pipeline.Compile(parsed.Policy)
	if err != nil {
		t.Fatalf("%s is read and does not compile: %v", step, err)
	}
	return parsed, plan.Step(0), nil
}

// A setting that a document leaves out has the default of the reference page: to
// write the default is to leave it out.
func TestDefaultsAreThoseOfTheReference(t *testing.T) {
	tables := page(t)
	const budget = "{ratio: 20%, minimum: 10/s, window: 10s}"
	for _, c := range []struct {
		bare, setting, written string // the setting that is left out, and a default of it
		page                   string // as the page has it, where that differs
	}{
		{"retry: {}", "attempts", "3", ""},
		{"retry: {}", "backoff", "{exponential: 500ms, factor: 2, max: 1m}", ""},
		{"retry: {}", "jitter", "full", ""},
		{"retry: {backoff: none}", "jitter", "none", ""},
		{"retry: {backoff: {decorrelated: 1s}}", "jitter", "none", ""},
		{"retry: {backoff: {constant: 1s}}", "jitter", "full", ""},
		{"retry: {}", "budget", "none", ""},
		{"retry: {}", "methods", "[GET, HEAD, PUT, DELETE, OPTIONS, TRACE]", "GET, HEAD, PUT, DELETE, OPTIONS, TRACE"},
		{"hedge: {after: 1s}", "max", "1", ""},
		{"hedge: {after: 1s}", "parallel", "false", ""},
		{"hedge: {after: p95}", "samples", "100", ""},
		{"hedge: {after: p95}", "minimum", "20", "the lesser of 20 and `samples`"},
		{"hedge: {after: p95, samples: 7}", "minimum", "7", "the lesser of 20 and `samples`"},
		{"hedge: {after: 1s}", "methods", "[GET, HEAD, PUT, DELETE, OPTIONS, TRACE]", "as of a retry"},
		{"breaker: {}", "window", "{calls: 100}", ""},
		{"breaker: {}", "minimum", "100", ""},
		{"breaker: {window: {calls: 30}}", "minimum", "30", "the lesser of 100 and the window's `calls`"},
		{"breaker: {window: {calls: 300}}", "minimum", "100", "the lesser of 100 and the window's `calls`"},
		{"breaker: {window: {time: 1m}}", "minimum", "100", "100 beside `time`"},
		{"breaker: {}", "failure_rate", "50%", ""},
		{"breaker: {}", "open", "1m", ""},
		{"breaker: {}", "open", "{constant: 1m, jitter: none}", "1m"},
		{"breaker: {}", "probes", "10", ""},
		{"breaker: {}", "half_open_max", "0s", ""},
		{"limit: {rate: 7/1s}", "algorithm", "token-bucket", ""},
		{"limit: {rate: 7/1s}", "wait", "0s", ""},
		{"limit: {rate: 7/1s, wait: 1s}", "queue", "100", ""},
		{"limit: {rate: 7/1s, wait: 1s}", "order", "oldest", ""},
		{"bulkhead: {concurrent: 2}", "queue", "0", ""},
		{"bulkhead: {concurrent: 2, wait: 1s}", "queue", "100", "100 beside a `wait`"},
		{"bulkhead: {concurrent: 2, queue: 1}", "order", "oldest", ""},
		{"adaptive: {}", "initial", "20", ""},
		{"adaptive: {maximum: 9}", "initial", "9", "or the bound next to it"},
		{"adaptive: {minimum: 30}", "initial", "30", "or the bound next to it"},
		{"adaptive: {}", "minimum", "1", ""},
		{"adaptive: {}", "maximum", "200", ""},
		{"adaptive: {initial: 300}", "maximum", "300", "the greater of `minimum` and `initial`"},
		{"adaptive: {minimum: 400}", "maximum", "400", "the greater of `minimum` and `initial`"},
		{"adaptive: {}", "increase", "1", ""},
		{"adaptive: {}", "decrease", "10%", ""},
		{"adaptive: {}", "over", "60%", ""},
		{"adaptive: {}", "tolerance", "15%", ""},
		{"chaos: {slow: {rate: 5%, by: 1s}}", "fail", "0%", "none"},
		{"chaos: {fail: 5%}", "ignore", "0%", "none"},
		{"chaos: {fail: 5%}", "throttle", "{rate: 0%}", "none"},
		// Settings below the tables.
		{"retry: {budget: {ratio: 20%}}", "budget", budget, "none"},
		{"retry: {budget: 20%}", "budget", budget, "none"},
		{"hedge: {after: 1s, budget: 20%}", "budget", budget, "`none`"},
		{"retry: {backoff: {exponential: 2s}}", "backoff", "{exponential: 2s, factor: 2, max: 1m}", "factor: 2, max: 1m"},
		{"breaker: {window: {time: 20s}}", "window", "{time: 20s, buckets: 10}", ""},
	} {
		name, body, _ := strings.Cut(c.bare, ": ")
		cells, known := tables[name][c.setting]
		want := c.page
		if want == "" {
			want = c.written
		}
		if !known || !strings.Contains(cells[1], want) && !strings.Contains(cells[0], "default 10") {
			t.Errorf("the page says of %s.%s %q, not %q", name, c.setting, cells[1], want)
		}
		written := name + ": " + without(body, c.setting) + c.setting + ": " + c.written + "}"
		bare, left, err := read(t, c.bare)
		given, said, err2 := read(t, written)
		if err != nil || err2 != nil {
			t.Errorf("%v, %v", err, err2)
			continue
		}
		if !reflect.DeepEqual(left.Config, said.Config) || !reflect.DeepEqual(bare.Methods, given.Methods) || !reflect.DeepEqual(bare.HedgeMethods, given.HedgeMethods) {
			t.Errorf("%s is\n%+v %q\n%s is\n%+v %q", c.bare, left.Config, bare.Methods, written, said.Config, given.Methods)
		}
	}
}

// without returns a map of settings without its end and without a setting, which is
// its last one if it is there.
func without(body, setting string) string {
	body = strings.TrimSuffix(body, "}")
	if i := strings.Index(body, setting+": "); i >= 0 {
		body = body[:i]
	}
	if body = strings.TrimRight(body, ", "); body != "{" {
		body += ", "
	}
	return body
}

// The bounds of the reference page are the first and the last value that is read.
func TestBoundsAreThoseOfTheReference(t *testing.T) {
	tables := page(t)
	for _, c := range []struct {
		step, setting string // the value replaces #
		least, most   int
		page          string
	}{
		{"retry: {attempts: #}", "attempts", 1, 1000, "1 to 1000"},
		{"retry: {methods: [GET, PUT], attempts: #}", "attempts", 1, 1000, "1 to 1000"},
		{"hedge: {after: 1s, max: #}", "max", 1, 10, "1 to 10"},
		{"hedge: {after: p1, minimum: 1, samples: #}", "samples", 1, 10_000, "1 to 10,000"},
		{"hedge: {after: p1, samples: 50, minimum: #}", "minimum", 1, 50, "1 to `samples`"},
		{"breaker: {minimum: 1, window: {calls: #}}", "window", 1, 10_000, "`calls` 1 to 10,000"},
		{"breaker: {window: {time: 1m, buckets: #}}", "window", 1, 1000, "`buckets` 1 to 1000"},
		{"breaker: {window: {consecutive: #}}", "window", 1, 10_000, "`consecutive` 1 to 10,000"},
		{"breaker: {window: {time: 1m}, minimum: #}", "minimum", 1, 10_000, "1 to 10,000"},
		{"breaker: {window: {calls: 40}, minimum: #}", "minimum", 1, 40, "at most the window's `calls`"},
		{"breaker: {probes: #}", "probes", 1, 1000, "1 to 1000"},
		{"limit: {rate: 1/1s, burst: #}", "burst", 1, 1_000_000_000, "1 to 1,000,000,000"},
		{"limit: {rate: #/1s, algorithm: sliding-log}", "rate", 1, 10_000, "for `sliding-log` a count of at most 10,000"},
		{"limit: {rate: 1/1s, wait: 1s, queue: #}", "queue", 1, 10_000, "1 to 10,000"},
		{"bulkhead: {concurrent: #}", "concurrent", 1, 1_000_000, "1 to 1,000,000"},
		{"bulkhead: {concurrent: 1, queue: #}", "queue", 0, 10_000, "0 to 10,000"},
		{"adaptive: {maximum: #, minimum: 1}", "maximum", 1, 10_000, "1 to 10,000"},
		{"adaptive: {minimum: #, maximum: 40}", "minimum", 1, 40, "1 to `maximum`"},
		{"adaptive: {initial: #, minimum: 5, maximum: 40}", "initial", 5, 40, "`minimum` to `maximum`"},
		{"adaptive: {increase: #}", "increase", 1, 100, "1 to 100"},
		{"chaos: {ignore: 0%, fail: #%}", "fail", 0, 100, "0% to 100%"},
		{"chaos: {fail: 40%, throttle: {rate: #%}}", "fail", 0, 60, "at most 100% with `throttle` and `ignore` together"},
		{"chaos: {slow: {rate: #%, by: 1s}}", "slow", 0, 100, "`rate` 0% to 100%"},
		{"timeout: {after: 10ns, soft: #ns}", "soft", 1, 9, "less than `after`"},
		{"breaker: {window: {time: 7ns, buckets: #}}", "window", 1, 7, "at least a nanosecond each"},
	} {
		name, _, _ := strings.Cut(c.step, ":")
		if cells := tables[name][c.setting]; !strings.Contains(cells[0], c.page) {
			t.Errorf("the page says of %s.%s %q, not %q", name, c.setting, cells[0], c.page)
		}
		for value, allowed := range map[int]bool{c.least - 1: false, c.least: true, c.most: true, c.most + 1: false} {
			step := strings.ReplaceAll(c.step, "#", strconv.Itoa(value))
			if _, _, err := read(t, step); (err == nil) != allowed {
				t.Errorf("%s: %v", step, err)
			}
		}
	}
}

// Settings that exclude each other are reported once, and no error follows from a
// setting that could not be read. The samples of package policy have the whole texts.
func TestSettingsThatExcludeEachOther(t *testing.T) {
	told := regexp.MustCompile(`steps\[0\]\.\w+\.(.*?); allowed`)
	for _, c := range [...][2]string{
		{"timeout: {after: 1s, soft: 1s}", `soft: found the text "1s"`},
		{"timeout: {after: x, soft: 1s}", `after: found the text "x"`},
		{"timeout: {soft: x, after: 1ns}", `soft: found the text "x"`},
		{"hedge: {after: 1s, samples: 5, minimum: 6}", `samples: found samples without a percentile; minimum: found minimum without a percentile`},
		{"hedge: {after: p95, minimum: 101}", `minimum: found the number 101`},
		{"hedge: {after: p95, samples: 5, minimum: 6}", `minimum: found the number 6`},
		{"hedge: {after: p95, samples: 5, minimum: x}", `minimum: found the text "x"`},
		{"hedge: {after: p95, samples: x, minimum: 600}", `samples: found the text "x"`},
		{"hedge: {after: x, samples: 5, minimum: 6}", `after: found the text "x"`},
		{"hedge: {parallel: true, after: 1s}", `after: found after beside parallel`},
		{"hedge: {parallel: true, after: x, samples: 5}", `after: found after beside parallel; samples: found samples without a percentile`},
		{"hedge: {samples: 5}", `after: found nothing; samples: found samples without a percentile`},
		{"breaker: {open: none}", `open: found the text "none"`},
		{"breaker: {window: {calls: 3}, minimum: 4}", `minimum: found the number 4`},
		{"breaker: {window: {calls: x}, minimum: 300}", `window.calls: found the text "x"`},
		{"breaker: {window: {consecutive: 3}, minimum: 3, failure_rate: 10%, slow: {over: 1s, rate: 10%}}", `minimum: found minimum beside a window of consecutive failures; failure_rate: found failure_rate beside a window of consecutive failures; slow.rate: found rate beside a window of consecutive failures`},
		{"breaker: {window: {time: 3ns, buckets: 4}}", `window.time: found the text "3ns"`},
		{"breaker: {window: {time: 9ns}}", `window.time: found the text "9ns"`},
		{"limit: {rate: 1/1s, algorithm: fixed-window, burst: 5}", `burst: found burst beside fixed-window`},
		{"limit: {rate: 1/1s, burst: x}", `burst: found the text "x"`},
		{"limit: {rate: 1/1s, order: newest}", `order: found order without wait`},
		{"limit: {rate: 1/1s, queue: 5}", `queue: found queue without wait`},
		{"limit: {rate: 1/1s, wait: 0s, queue: 5}", `queue: found queue beside a wait of nothing`},
		{"limit: {rate: 1/1s, wait: x, queue: 5}", `wait: found the text "x"`},
		{"limit: {rate: 1/1s, wiat: 1s, queue: 5}", `wiat: found the unknown name "wiat"`},
		{"limit: {rate: 1/2000000h, algorithm: fixed-window}", `rate: found the text "1/2000000h"`},
		{"limit: {rate: 1/2000000h, burst: x}", `burst: found the text "x"`},
		{"limit: {rate: 1/2000000h}", `rate: found the text "1/2000000h"`},
		{"limit: {rate: 1/2h, burst: 1000000000}", `burst: found the number 1000000000`},
		{"limit: {rate: 10001/1s, algorithm: sliding-log}", `rate: found the text "10001/1s"`},
		{"limit: {rate: x, burst: 5}", `rate: found the text "x"`},
		{"chaos: {fail: 70%, throttle: {rate: 30%}, ignore: 1%}", `ignore: found the text "1%"`},
		{"chaos: {fail: 70%, throttle: {rate: 31%}, ignore: 1%}", `throttle.rate: found the text "31%"`},
		{"chaos: {fail: x, throttle: {rate: 100%}, ignore: 1%}", `fail: found the text "x"; ignore: found the text "1%"`},
		{"chaos: {slow: {rate: 1%, by: 2s, to: 1s}}", `slow.to: found the text "1s"`},
		{"chaos: {slow: {rate: 1%, by: x, to: 1s}}", `slow.by: found the text "x"`},
		{"bulkhead: {concurrent: 1, lease: 0s}", `lease: found the text "0s"`},
		{"bulkhead: {concurrent: 1, order: newest}", `order: found order without a queue`},
		{"bulkhead: {concurrent: 1, queue: 0, order: newest}", `order: found order without a queue`},
		{"bulkhead: {concurrent: 1, queue: x, order: newest}", `queue: found the text "x"`},
		{"bulkhead: {concurrent: 1, wait: 0s, queue: 3}", `queue: found queue beside a wait of nothing`},
		{"bulkhead: {concurrent: 1, wait: 1s, queue: 0}", `wait: found wait beside a queue of 0`},
		{"bulkhead: {concurrent: 1, wait: 1s, queue: x}", `queue: found the text "x"`},
		{"bulkhead: {concurrent: 1, wait: x, queue: 3}", `wait: found the text "x"`},
	} {
		var errs []string
		if _, _, err := read(t, c[0]); err != nil {
			for _, match := range told.FindAllStringSubmatch(err.Error(), -1) {
				errs = append(errs, match[1])
			}
		}
		if got := strings.Join(errs, "; "); got != c[1] {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
	}
}
