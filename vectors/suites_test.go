package vectors

import "time"

// suite registers what the vectors cover: one line for each configuration. What
// happens to it is drawn at random, with pauses in multiples of the unit.
type suite struct {
	name  string
	unit  time.Duration
	body  string // of one policy, in JSON
	step  uint8  // of a cell's suite
	other string // that a pipeline changes to and fro, "" for none
	// beside are the policies of the pipelines that are joined to the first one.
	beside []string
	// asks says that calls have attributes.
	asks bool
}

// cells have their steps played by reduce. A mechanism with a state joins here.
var cells = []suite{
	{name: "token bucket", unit: time.Second, body: `{"steps":[{"limit":{"rate":"50/1m","burst":10}}]}`},
	{name: "token bucket, three in ten nanoseconds", unit: 1, body: `{"steps":[{"limit":{"rate":"3/10ns","burst":4}}]}`},
	{name: "token bucket, waiting", unit: 1, body: `{"steps":[{"limit":{"rate":"3/10ns","burst":2,"wait":"20ns","queue":5}}]}`},
	{name: "token bucket, waiting, newest first", unit: 1, body: `{"steps":[{"limit":{"rate":"1/4ns","burst":2,"wait":"30ns","queue":4,"order":"newest"}}]}`},
	{name: "fixed window", unit: time.Millisecond, body: `{"steps":[{"limit":{"algorithm":"fixed-window","rate":"5/10ms"}}]}`},
	{name: "fixed window, waiting", unit: 1, body: `{"steps":[{"limit":{"algorithm":"fixed-window","rate":"4/10ns","wait":"25ns","queue":6}}]}`},
	{name: "fixed window by the calendar", unit: time.Hour, body: `{"steps":[{"limit":{"rate":"6/day","zone":"CET-1CEST,M1.1.5/7,M1.2.2","wait":"20h","queue":4}}]}`},
	{name: "sliding counter", unit: time.Hour, body: `{"steps":[{"limit":{"algorithm":"sliding-counter","rate":"7/10h"}}]}`},
	{name: "sliding counter, waiting", unit: 1, body: `{"steps":[{"limit":{"algorithm":"sliding-counter","rate":"4/12ns","wait":"25ns","queue":5}}]}`},
	{name: "sliding log", unit: time.Second, body: `{"steps":[{"limit":{"algorithm":"sliding-log","rate":"6/10s"}}]}`},
	{name: "sliding log, waiting", unit: 1, body: `{"steps":[{"limit":{"algorithm":"sliding-log","rate":"4/12ns","wait":"25ns","queue":5}}]}`},
	{name: "leaky bucket", unit: time.Millisecond, body: `{"steps":[{"limit":{"algorithm":"leaky-bucket","rate":"4/5ms"}}]}`},
	{name: "leaky bucket, waiting, newest first", unit: 1, body: `{"steps":[{"limit":{"algorithm":"leaky-bucket","rate":"3/10ns","wait":"30ns","queue":4,"order":"newest"}}]}`},
	{name: "breaker, calls", unit: time.Second, body: `{"steps":[{"breaker":{"window":{"calls":20},"minimum":5,"failure_rate":"50%","open":"10s","probes":3}}]}`},
	{name: "breaker, calls, slow", unit: time.Second, body: `{"steps":[{"breaker":{"window":{"calls":10},"minimum":4,"slow":{"over":"2s","rate":"60%"},"open":{"exponential":"3s","factor":1.5,"max":"20s"},"probes":2,"half_open_max":"8s"}}]}`},
	{name: "breaker, slow in a row", unit: time.Second, body: `{"steps":[{"breaker":{"window":{"consecutive":4},"slow":{"over":"2s","consecutive":2},"open":"5s","probes":2,"initial":"half-open","half_open_max":"20s"}}]}`},
	{name: "breaker, ramp", unit: time.Second, body: `{"steps":[{"breaker":{"window":{"calls":10},"minimum":3,"open":"3s","probes":1,"obey_retry_after":"8s","ramp":{"over":"20s","from":"30%"}}}]}`},
	{name: "breaker, 400 calls", unit: time.Millisecond, body: `{"steps":[{"breaker":{"window":{"calls":400},"minimum":40,"failure_rate":"45%","open":"10ms","probes":12}}]}`},
	{name: "breaker, time", unit: time.Second, body: `{"steps":[{"breaker":{"window":{"time":"30s","buckets":5},"minimum":6,"failure_rate":"40%","open":"5s","probes":2}}]}`},
	{name: "breaker, consecutive", unit: time.Second, body: `{"steps":[{"breaker":{"window":{"consecutive":3},"open":{"fibonacci":"2s","max":"30s"},"probes":2}}]}`},
	{name: "breaker, consecutive, forgets", unit: time.Second, body: `{"steps":[{"breaker":{"window":{"consecutive":3,"forget":"5s"},"open":"4s","probes":1}}]}`},
	{name: "bulkhead", unit: time.Second, body: `{"steps":[{"bulkhead":{"concurrent":3,"queue":4,"wait":"6s"}}]}`},
	{name: "bulkhead, leases, newest first", unit: time.Second, body: `{"steps":[{"bulkhead":{"concurrent":3,"queue":4,"wait":"9s","order":"newest","lease":"7s"}}]}`},
	{name: "hedge, percentile", unit: time.Millisecond, body: `{"steps":[{"hedge":{"after":"p90","samples":20,"minimum":5}}]}`},
	{name: "hedge, percentile and budget", unit: time.Second, body: `{"steps":[{"hedge":{"after":"p50","samples":7,"minimum":2,"budget":{"ratio":"30%","minimum":"1/4s","window":"10s"}}}]}`},
	{name: "adaptive limit", unit: time.Second, body: `{"steps":[{"adaptive":{"initial":3,"maximum":6,"decrease":"40%","over":"4s"}}]}`},
	{name: "retry budget", unit: time.Second, body: `{"steps":[{"retry":{"attempts":3,"budget":{"ratio":"20%","minimum":"1/2s","window":"10s"}}}]}`},
	{name: "retry budget, tokens", unit: time.Second, body: `{"steps":[{"retry":{"attempts":3,"budget":{"tokens":30,"retry":5,"timeout":10,"refund":1}}}]}`},
	{name: "retry budget, adaptive", unit: time.Second, body: `{"steps":[{"retry":{"attempts":5,"budget":{"adaptive":"10s","one_above":"60%","two_above":"30%","wait":"1s"}}}]}`},
	{name: "retry budget, throttling", unit: time.Second, body: `{"steps":[{"retry":{"attempts":3,"budget":{"max_tokens":10,"token_ratio":0.333}}}]}`},
}

const (
	vendor = `{"steps":[{"timeout":"30s"},{"retry":{"attempts":3,"backoff":{"exponential":"500ms","max":"1m"},"jitter":"full","budget":"20%"}},` +
		`{"breaker":{"window":{"calls":20},"minimum":5,"failure_rate":"50%","slow":{"over":"2s","rate":"80%"},"open":"3s","probes":2}},` +
		`{"limit":{"rate":"5/1s","burst":3,"wait":"3s","per":"header:x-tenant"}},{"bulkhead":{"concurrent":3,"queue":5,"wait":"5s"}},{"timeout":"2s"}],"fallback":{"status":503}}`
	lesser = `{"steps":[{"timeout":"20s"},{"retry":{"attempts":2,"backoff":{"constant":"200ms"},"jitter":"equal"}},` +
		`{"breaker":{"window":{"time":"10s","buckets":5},"minimum":3,"failure_rate":"40%","open":"2s","probes":1}},` +
		`{"limit":{"algorithm":"sliding-counter","rate":"8/2s","per":"header:x-tenant"}},{"bulkhead":{"concurrent":2,"lease":"2s"}}]}`
	hedged = `{"steps":[{"timeout":"10s"},{"retry":{"attempts":2,"backoff":{"constant":"500ms"},"jitter":"full","budget":"50%"}},` +
		`{"breaker":{"window":{"calls":20},"minimum":5,"failure_rate":"60%","open":"2s","probes":2}},{"hedge":{"after":"300ms","max":2}},` +
		`{"limit":{"rate":"20/1s","burst":5,"wait":"400ms"}},{"bulkhead":{"concurrent":4,"queue":2,"wait":"500ms"}},{"timeout":"1s"}],"fallback":{"status":503}}`
	injecting = `{"steps":[{"timeout":"5s"},{"retry":{"attempts":3,"backoff":{"constant":"300ms"},"jitter":"equal","budget":"50%"}},` +
		`{"breaker":{"window":{"calls":10},"minimum":4,"slow":{"over":"400ms","rate":"50%"},"open":"1s","probes":2}},{"bulkhead":5},{"timeout":"600ms"},` +
		`{"chaos":{"fail":"15%","throttle":{"rate":"15%","retry_after":"700ms"},"ignore":"5%","slow":{"rate":"40%","by":"100ms","to":"900ms"}}}],"fallback":{"status":503}}`
	dormant    = `{"steps":[{"bulkhead":2},{"chaos":{"throttle":{"rate":"50%"},"slow":{"rate":"50%","by":"1s"},"shadow":true}}]}`
	percentile = `{"steps":[{"timeout":"10s"},{"retry":{"attempts":3,"backoff":"none"}},{"hedge":{"after":"p80","samples":10,"minimum":3,"budget":"40%"}},` +
		`{"breaker":{"window":{"time":"5s","buckets":5},"minimum":4,"open":"1s","probes":1}},{"bulkhead":{"concurrent":3,"queue":2}},{"timeout":"2s"}]}`
)

// pipelines have events played on whole policies.
var pipelines = []suite{
	{name: "vendor", unit: 100 * time.Millisecond, body: vendor},
	{name: "vendor, reconfigured", unit: 100 * time.Millisecond, body: vendor, other: lesser},
	{name: "shadow", unit: 100 * time.Millisecond, body: `{"steps":[{"limit":{"rate":"2/1s","shadow":true}},{"breaker":{"window":{"consecutive":2},"open":"1s","probes":1,"shadow":true}},{"bulkhead":{"concurrent":1,"queue":2,"wait":"1s","shadow":true}},{"timeout":{"after":"500ms","shadow":true}}]}`},
	{name: "decorrelated retry", unit: 100 * time.Millisecond, body: `{"steps":[{"breaker":{"window":{"calls":10},"minimum":3,"open":"1s","probes":1}},{"retry":{"attempts":4,"backoff":{"decorrelated":"100ms","max":"2s"},"jitter":"none"}},{"timeout":"300ms"}]}`},
	{name: "two limits and keys", unit: 50 * time.Millisecond, body: `{"steps":[{"limit":{"rate":"20/1s","per":["key","ip"]}},{"limit":{"algorithm":"fixed-window","rate":"6/1s","wait":"1s","queue":3,"order":"newest"}},{"bulkhead":{"concurrent":2,"queue":2,"per":"key"}}]}`, other: `{"steps":[{"limit":{"rate":"5/1s","per":["key","ip"]}},{"limit":{"rate":"4/1s","wait":"2s"}},{"bulkhead":{"concurrent":1,"per":"ip"}}]}`},
	{name: "hedge", unit: 100 * time.Millisecond, body: hedged, other: percentile},
	{name: "hedge, parallel", unit: 50 * time.Millisecond, body: `{"steps":[{"breaker":{"window":{"calls":10},"minimum":4,"open":"1s","probes":2}},{"hedge":{"parallel":true,"max":2}},{"limit":{"rate":"20/1s","burst":4,"wait":"300ms"}},{"bulkhead":{"concurrent":5,"queue":3,"lease":"400ms"}},{"timeout":"700ms"}]}`},
	{name: "chaos", unit: 100 * time.Millisecond, body: injecting, other: dormant},
	{name: "chaos under a hedge", unit: 50 * time.Millisecond, body: `{"steps":[{"retry":{"attempts":2,"backoff":{"constant":"200ms"},"jitter":"full"}},{"hedge":{"after":"100ms","max":2}},{"bulkhead":{"concurrent":6,"lease":"400ms"}},{"timeout":"400ms"},{"chaos":{"fail":"20%","ignore":"10%","slow":{"rate":"60%","by":"50ms","to":"500ms"}}}]}`},
	{name: "hedge in shadow", unit: 50 * time.Millisecond, body: `{"steps":[{"hedge":{"after":"100ms","max":2,"shadow":true}},{"bulkhead":{"concurrent":4}}]}`},
	{name: "keys that are evicted", unit: 100 * time.Millisecond, body: `{"steps":[{"limit":{"rate":"3/1s","wait":"500ms","per":"key","keys":2}},{"breaker":{"window":{"consecutive":2},"open":"1s","probes":1,"per":"key","keys":2,"missing":"skip"}},{"bulkhead":{"concurrent":2,"queue":1,"per":"ip","keys":1}}]}`, other: `{"steps":[{"limit":{"rate":"3/1s","wait":"500ms","per":"key","keys":1}},{"bulkhead":{"concurrent":2,"queue":1,"per":"ip","keys":3,"missing":"deny"}}]}`},
	{name: "keys that share", unit: 100 * time.Millisecond, body: `{"steps":[{"limit":{"algorithm":"sliding-log","rate":"4/1s","wait":"500ms","per":"key","keys":2,"when_full":"share","missing":"deny"}},{"retry":{"attempts":2,"backoff":{"constant":"200ms"},"jitter":"none"}},{"limit":{"name":"even","algorithm":"leaky-bucket","rate":"10/1s","wait":"1s","queue":4,"per":"key","keys":1,"when_full":"share"}}]}`},
	{name: "costs of a bulkhead", unit: 100 * time.Millisecond, body: `{"steps":[{"timeout":"3s"},{"bulkhead":{"concurrent":5,"queue":4,"wait":"2s","lease":"900ms","cost":2}}]}`, other: `{"steps":[{"timeout":"3s"},{"bulkhead":{"concurrent":4,"queue":4,"order":"newest","wait":"2s","cost":{"attribute":"header:n","default":3}}}]}`},
	{name: "costs of an adaptive limit", unit: 100 * time.Millisecond, body: `{"steps":[{"timeout":"3s"},{"adaptive":{"initial":5,"maximum":9,"decrease":"50%","over":"700ms","cost":2}}]}`, other: `{"steps":[{"timeout":"3s"},{"adaptive":{"initial":5,"minimum":2,"maximum":7,"over":"700ms","cost":{"attribute":"header:n","default":3}}}]}`},
	{name: "leases", unit: 100 * time.Millisecond, body: `{"steps":[{"timeout":"3s"},{"bulkhead":{"concurrent":3,"queue":4,"wait":"2s","lease":"600ms"}},{"retry":{"attempts":3,"backoff":{"linear":"100ms","max":"1s"},"jitter":"20%","budget":"50%"}}]}`},
	{name: "adaptive retries", unit: 100 * time.Millisecond, body: `{"steps":[{"timeout":"9s"},{"retry":{"attempts":5,"backoff":{"constant":"200ms"},"jitter":"none","budget":{"adaptive":"3s","wait":"150ms"}}},{"limit":{"rate":"10/1s","wait":"1s"}},{"bulkhead":{"concurrent":3,"queue":3}},{"timeout":"500ms"}]}`},
	{name: "tokens", unit: 100 * time.Millisecond, body: `{"steps":[{"timeout":"9s"},{"retry":{"attempts":4,"backoff":{"constant":"200ms"},"jitter":"none","refusals":"wait","budget":{"tokens":20},"per":"key"}},{"hedge":{"after":"200ms"}},{"limit":"30/1s"},{"timeout":"500ms"}]}`,
		other: `{"steps":[{"retry":{"attempts":4,"backoff":{"constant":"200ms"},"jitter":"none","budget":{"max_tokens":6,"token_ratio":0.5},"per":"key"}},{"hedge":{"after":"200ms","budget":{"tokens":9,"retry":2}}},{"timeout":"500ms"}]}`},
	{name: "conditions", unit: 100 * time.Millisecond, asks: true, body: chosen, other: chosenLess},
	{name: "shares of calls", unit: 100 * time.Millisecond, asks: true, body: shares, other: sharesLess},
	{name: "costs of calls", unit: 100 * time.Millisecond, asks: true, body: priced, other: pricedLess},
	{name: "joined", unit: 100 * time.Millisecond, asks: true, body: joined + `"steps":[{"timeout":"9s"},{"use":"all"},{"use":"budget"},{"use":"health"},{"use":"places"}]}`,
		beside: []string{
			joined + `"steps":[{"use":{"mechanism":"places","name":"mine"}},{"limit":{"rate":"9/1s"}},{"use":{"mechanism":"all","shadow":true}}]}`,
			joined + `"deny":{"header:x":"b"},"steps":[{"use":"tenant"},{"use":"budget"},{"use":"health"},{"timeout":"700ms"}]}`,
		},
		other: joinedLess + `"steps":[{"use":"tenant"},{"limit":{"rate":"9/1s","wait":"1s"}},{"use":"places"},{"use":"all"}]}`},
	{name: "joined, keys that are evicted", unit: 50 * time.Millisecond, body: joinedKeys + `"steps":[{"use":"k"},{"use":"b"}]}`,
		beside: []string{joinedKeys + `"steps":[{"use":"b"},{"limit":{"rate":"9/1s","per":"ip","keys":1}},{"use":"k"}]}`},
		other:  joinedKeys + `"steps":[{"use":"b"},{"use":"k"},{"use":"h"}]}`},
}

const (
	chosen = `{"allow":{"key":"root"},"deny":[{"ip":"192.0.2.0/25"},{"header:x":"c","not":{"key":["a",""]}}],"steps":[{"timeout":"3s"},` +
		`{"limit":{"rate":"5/1s","burst":3,"wait":"1s","class":"header:plan","rates":{"free":"2/1s","pro":"20/1s"}}},` +
		`{"retry":{"attempts":3,"backoff":{"constant":"200ms"},"jitter":"full","budget":"50%","when":{"header:x":["a","b"]}}},` +
		`{"breaker":{"window":{"calls":10},"minimum":3,"open":"1s","probes":1,"when":[{"ip":["10.0.0.0/8","2001:db8::/32"]},{"key":"b"}]}},` +
		`{"bulkhead":{"concurrent":3,"queue":3,"per":"key","when":{"not":{"header:x":""}}}},{"timeout":{"after":"600ms","when":{"header:plan":"free"}}}]}`
	chosenLess = `{"steps":[{"limit":{"rate":"5/1s","burst":3,"when":{"ip":["::ffff:10.0.0.0/104",""]}}},` +
		`{"hedge":{"after":"100ms","max":2,"when":{"header:plan":["pro"]}}},{"limit":{"name":"limit-free","rate":"1/1s","wait":"2s"}},` +
		`{"breaker":{"window":{"consecutive":3},"open":"1s","probes":1,"when":{"not":{"key":"a"}}}},{"chaos":{"fail":"30%","slow":{"rate":"30%","by":"300ms"},"when":{"header:x":"a"}}}]}`
	shares = `{"steps":[{"limit":{"rate":"4/1s","enforce":"30%"}},{"breaker":{"window":{"calls":10},"minimum":3,"open":"1s","probes":1,"enforce":{"share":"50%","by":"key"}}},` +
		`{"bulkhead":{"concurrent":2,"queue":2,"wait":"500ms","enforce":{"share":"60%","by":"header:x"},"when":{"not":{"header:plan":"pro"}}}},{"timeout":"700ms"}]}`
	sharesLess = `{"steps":[{"limit":{"rate":"4/1s","enforce":{"share":"10%","by":"header:plan"}}},{"hedge":{"after":"200ms","enforce":"50%"}},` +
		`{"bulkhead":{"concurrent":2,"queue":2,"enforce":"0.0001%"}},{"timeout":{"after":"500ms","enforce":{"share":"100%","by":"key"}}}]}`
	priced = `{"steps":[{"limit":{"rate":"30/1s","burst":12,"wait":"1s","cost":{"attribute":"header:n","default":3},"charge":"settle"}},` +
		`{"bulkhead":{"concurrent":9,"queue":4,"wait":"500ms","cost":{"attribute":"header:n"}}},{"limit":{"name":"ends","rate":"20/1s","charge":"end","counts":["ok","fail"]}},{"timeout":"900ms"}]}`
	pricedLess = `{"steps":[{"limit":{"algorithm":"fixed-window","rate":"15/1s","cost":{"attribute":"header:m","default":2},"counts":"fail"}},` +
		`{"bulkhead":{"concurrent":4,"cost":{"attribute":"header:n","default":2},"when":{"header:plan":["free","pro"]}}}]}`
	joined = `{"mechanisms":{"all":{"limit":{"rate":"10/1s","burst":4,"wait":"1s","queue":3}},"tenant":{"limit":{"rate":"3/1s","per":"header:x","keys":2,"when":{"not":{"header:plan":"pro"}}}},` +
		`"budget":{"retry":{"attempts":3,"backoff":{"constant":"200ms"},"jitter":"full","budget":{"tokens":20}}},` +
		`"health":{"breaker":{"window":{"calls":10},"minimum":4,"failure_rate":"50%","open":"1s","probes":2,"enforce":"70%"}},` +
		`"places":{"bulkhead":{"concurrent":3,"queue":4,"wait":"800ms","lease":"1s"}}},`
	joinedLess = `{"mechanisms":{"all":{"limit":{"rate":"4/1s","burst":2,"wait":"500ms","queue":2}},"tenant":{"limit":{"rate":"2/1s","per":"header:x","keys":1,"when_full":"share"}},` +
		`"places":{"bulkhead":{"concurrent":2,"queue":2,"order":"newest","wait":"500ms"}}},`
	joinedKeys = `{"mechanisms":{"k":{"limit":{"rate":"4/1s","wait":"500ms","per":"key","keys":2}},"b":{"bulkhead":{"concurrent":2,"queue":2,"wait":"400ms","per":"key","keys":2,"missing":"skip"}},` +
		`"h":{"breaker":{"window":{"consecutive":2},"open":"1s","probes":1,"per":"key","keys":1}}},`
)

// attributes are the attributes of the calls of suites, names and values in turn.
var attributes = [][]string{
	nil,
	{"key", "a", "header:x", "a"},
	{"key", "b", "header:x", "b", "header:plan", "free"},
	{"key", "b", "header:x", "c"},
	{"key", "a", "header:x", "c", "header:plan", "pro", "header:n", "4"},
	{"key", "root", "ip", "10.1.2.3"},
	{"key", "root", "ip", "192.0.2.5"},
	{"ip", "192.0.2.200", "header:n", "0"},
	{"ip", "::ffff:10.2.0.1", "header:plan", "free", "header:x", "a", "header:n", "2", "header:m", "1"},
	{"ip", "2001:db8::7/64", "header:plan", "pro", "header:n", "99999999999", "header:m", "5"},
	{"ip", "unknown", "header:x", "b", "header:n", "02"},
	{"key", "ü", "header:plan", "gold", "header:n", "7", "header:m", "-1"},
	{"key", "c", "ip", "10.0.0.0/7", "header:x", "ä", "header:plan", "free", "header:n", "1"},
}
