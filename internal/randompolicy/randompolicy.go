// Package randompolicy makes random policies for the tests of the readers of
// documents.
package randompolicy

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// pools are values for each setting, as JSON: some right, some wrong, some that
// depend on other settings.
var pools = map[string]map[string][]string{
	"timeout": {"": {`"10s"`, `10`, `"0s"`}, "after": {`"10s"`, `"1d"`, `"1ns"`}, "soft": {`"5s"`, `"10s"`, `"x"`}},
	"retry": {
		"": {`3`, `0`, `"3"`}, "attempts": {`1`, `1000`, `1001`, `2.5`},
		"backoff": {
			`"none"`, `{"constant":"1s"}`, `{"linear":"1s","max":"5s"}`, `{"exponential":"1s"}`, `{"exponential":"1s","factor":1.5,"max":"1m"}`,
			`{"fibonacci":"1s"}`, `{"decorrelated":"1s"}`, `{"decorrelated":"1s","max":"1m"}`, `{"linear":"1s","factor":2}`, `{"constant":"1s","max":"2s"}`, `{}`, `"1s"`, `{"linear":"2s","max":"1s"}`, `{"exponential":"2m"}`,
			`{"delays":["100ms","1s","5s"]}`, `{"delays":["0s"]}`, `{"delays":[]}`, `{"delays":"1s"}`, `{"delays":["1s",5]}`, `{"delays":["1s"],"max":"1s"}`, `{"delays":["1s"],"factor":2}`,
		},
		"jitter": {`"none"`, `"full"`, `"equal"`, `"20%"`, `"0%"`, `20`},
		"budget": {`"none"`, `"20%"`, `"1000%"`, `"1000.1%"`, `{"ratio":"0%"}`, `{"ratio":"5%","minimum":"0/s","window":"10ns"}`, `{"minimum":"1/s"}`, `{"ratio":"5%","window":"9ns"}`,
			`{"tokens":500}`, `{"tokens":3}`, `{"tokens":20,"retry":7,"timeout":20,"refund":2}`, `{"tokens":4,"retry":5,"refund":0}`, `{"tokens":"5","retry":5}`,
			`{"max_tokens":10,"token_ratio":0.1}`, `{"max_tokens":1000,"token_ratio":1000}`, `{"max_tokens":10,"token_ratio":"0.1"}`, `{"max_tokens":1001,"token_ratio":1.2345}`,
			`{"tokens":5,"max_tokens":5}`, `{"ratio":"5%","tokens":5,"refund":1}`, `{"max_tokens":5}`, `{"tokens":5,"window":"1s","token_ratio":1}`, `{"ratio":"5%","timeout":3,"token_ratio":0.5}`, `{"token":5}`, `{}`,
			`{"adaptive":"10s"}`, `{"adaptive":"10s","one_above":"30%","two_above":"5%","wait":"1s"}`, `{"adaptive":"9ns","wait":"0s"}`, `{"adaptive":"1s","one_above":"10%"}`,
			`{"adaptive":"1s","two_above":"60%"}`, `{"adaptive":5}`, `{"adaptive":"1s","tokens":5}`, `{"ratio":"5%","one_above":"5%"}`, `{"adaptive":"1s","retry":5,"one_above":"0%"}`},
		"max_elapsed": {`"10s"`, `"1ns"`, `"0s"`, `10`},
		"refusals":    {`"wait"`, `"end"`, `"retry"`, `true`},
		"methods":     {`"GET"`, `["GET","POST"]`, `[]`, `"get"`, `["PUT","PUT"]`},
	},
	"breaker": {
		"window": {
			`{"calls":1}`, `{"calls":50}`, `{"calls":10000}`, `{"calls":0}`, `{"time":"10s"}`, `{"time":"1us","buckets":1000}`, `{"time":"1ns"}`,
			`{"consecutive":5}`, `{"consecutive":5,"forget":"1m"}`, `{"consecutive":5,"forget":"0s"}`, `{"calls":5,"forget":"1m"}`, `{"calls":5,"buckets":5}`, `{"calls":5,"time":"1s"}`, `{}`, `100`,
		},
		"minimum": {`1`, `50`, `100`, `10000`, `0`}, "failure_rate": {`"50%"`, `"100%"`, `"0.0001%"`, `"0%"`, `"101%"`, `50`, `"05%"`},
		"slow":   {`{"over":"1s","rate":"50%"}`, `{"over":"1s"}`, `{"over":"0s","rate":"50%"}`, `{"over":"1s","consecutive":5}`, `{"over":"1s","rate":"50%","consecutive":10000}`, `{"over":"1s","consecutive":0}`, `{"consecutive":5}`},
		"open":   {`"30s"`, `{"exponential":"1s","max":"1m","jitter":"full"}`, `{"decorrelated":"1s","jitter":"full"}`, `{"decorrelated":"1s","jitter":"none"}`, `"none"`, `{"constant":"1s","jitter":"5%"}`, `{"delays":["1s","10s"],"jitter":"full"}`, `{"delays":["10s"]}`},
		"probes": {`1`, `1000`, `1001`}, "successes": {`1`, `2`, `10`, `11`, `0`}, "half_open_max": {`"0s"`, `"1m"`, `"-1s"`},
		"initial":          {`"closed"`, `"open"`, `"half-open"`, `"forced-open"`, `"forced-closed"`, `"metrics-only"`, `"half_open"`},
		"obey_retry_after": {`"10m"`, `"0s"`, `10`}, "ramp": {`{"over":"30s"}`, `{"over":"1ns","from":"99.9999%"}`, `{"over":"30s","from":"100%"}`, `{"from":"10%"}`, `"30s"`},
	},
	"limit": {
		"": {`"5/s"`, `"0/s"`, `5`, `"1/60000d"`}, "algorithm": {`"token-bucket"`, `"fixed-window"`, `"sliding-counter"`, `"sliding-log"`, `"leaky-bucket"`, `"log"`},
		"rate": {`"50/1m"`, `"50/m"`, `"1000000000/s"`, `"1000000001/1h"`, `"2/1ns"`, `"1/20000d"`, `"05/s"`, `"5/0s"`, `"1000/day"`, `"5/week"`, `"1000000000/month"`, `"0/day"`, `"5/hour"`, `"5/Day"`}, "zone": {`"UTC"`, `"CET-1CEST,M3.5.0,M10.5.0/3"`, `"+02:00"`, `"-11:30"`, `"<-03>3"`, `"Europe/Berlin"`, `"+25:00"`, `5`}, "burst": {`1`, `1000000000`, `0`, `3`},
		"wait": {`"3s"`, `"0s"`, `"0.0s"`, `"00d"`}, "queue": {`1`, `10000`, `0`}, "order": {`"oldest"`, `"newest"`, `"any"`},
		"class": {`"header:x-plan"`, `"key"`, `"ip"`, `"plan"`, `5`},
		"rates": {`{"free":"5/s"}`, `{"free":"5/s","pro":"1000000000/s"}`, `{"free":"50000/m","Pro":5}`, `{}`, `"5/s"`, `{"a":"1/20000d","a":"1/s"}`, `{"a":"5/day","b":"5/month"}`,
			`{"a":"1/s","b":"1/s","c":"1/s","d":"1/s","e":"1/s","f":"1/s","g":"1/s","h":"1/s","i":"1/s","j":"1/s","k":"1/s","l":"1/s","m":"1/s","n":"1/s","o":"1/s","p":"1/s"}`},
		"settle_max": {`5`, `1000000000`, `0`, `1000000001`, `"5"`}, "charge": {`"settle"`, `"start"`, `"end"`, `"later"`}, "counts": {`"fail"`, `["fail"]`, `["cancel","ok"]`, `["ok","fail","throttle","ignore","timeout","cancel"]`, `["ok","ok"]`, `[]`, `"failed"`, `[5]`},
		"block": {
			`"1m"`, `"0s"`, `5`, `{"exponential":"1m","factor":2,"max":"1h"}`, `{"exponential":"25h"}`, `{"linear":"1m"}`, `{"after":5,"for":"10m"}`, `{"after":0,"for":"1s"}`,
			`{"for":{"fibonacci":"1s","max":"1m"}}`, `{"for":{"delays":["1m","1h"]}}`, `{"delays":["0s"]}`, `{"after":3}`, `{"decorrelated":"1s"}`, `{"exponential":"1m","after":2}`,
			`{"for":{"exponential":"1m","jitter":"full"}}`, `{}`, `"none"`, `["1m"]`, `{"for":{"linear":"1h","max":"1m"}}`, `{"constant":"1m"}`, `{"constant":"1m","max":"1h"}`,
		},
		"warm_up": {`"30s"`, `"0s"`, `30`, `{"over":"30s","factor":5}`, `{"over":"721h"}`, `"31d"`, `{"over":"30s","factor":1}`, `{"factor":5}`, `{}`, `{"over":"1m","fctor":2}`, `["30s"]`, `{"over":"30s","factor":2.5}`},
		"cost":    {`1`, `"header:x-cost"`, `{"attribute":"query:\u00fc"}`, `{"attribute":"cookie:n","default":0}`, `4`, `0`, `"key"`, `"Header:x"`, `{"default":2}`, `{"attribute":"header:n","default":1000000000}`},
	},
	"hedge": {
		"": {`"200ms"`, `2`}, "after": {`"200ms"`, `"p95"`, `"p99.9"`, `"p0"`, `"0s"`, `5`}, "max": {`1`, `10`, `11`, `0`},
		"parallel": {`false`, `true`, `"true"`}, "samples": {`50`, `10000`, `0`}, "minimum": {`20`, `60`, `0`},
		"budget": {`"none"`, `"20%"`, `{"ratio":"0%"}`, `20`}, "methods": {`"GET"`, `["GET","POST"]`, `[]`},
	},
	"adaptive": {
		"": {`20`}, "initial": {`20`, `1`, `10000`, `0`}, "minimum": {`1`, `30`, `10001`}, "maximum": {`200`, `10`, `10000`}, "increase": {`1`, `100`, `101`},
		"decrease": {`"10%"`, `"100%"`, `"0%"`}, "over": {`"5s"`, `"1ns"`, `"0s"`, `"60%"`, `"0%"`, `"100%"`, `60`},
		"tolerance": {`"15%"`, `"50%"`, `"50.0001%"`, `"0%"`}, "lease": {`"1s"`, `"0s"`},
		"cost": {`1`, `"header:x-size"`, `{"attribute":"cookie:n","default":0}`, `20`, `0`, `{"attribute":"header:n","default":10000}`},
	},
	"chaos": {
		"": {`"5%"`, `5`}, "fail": {`"5%"`, `"0%"`, `"100%"`, `"50%"`, `"5.00001%"`, `5`}, "ignore": {`"1%"`, `"0%"`, `"60%"`, `"101%"`},
		"throttle": {`{"rate":"1%","retry_after":"2s"}`, `{"rate":"45%"}`, `{"rate":"0%"}`, `{"retry_after":"2s"}`, `{"rate":"1%","retry_after":"0s"}`, `"1%"`},
		"slow":     {`{"rate":"10%","by":"200ms"}`, `{"rate":"100%","by":"1ns","to":"1d"}`, `{"rate":"0%","by":"2s","to":"1s"}`, `{"by":"1s"}`, `{"rate":"5%"}`, `{"rate":"5%","by":"0s"}`},
	},
	"bulkhead": {
		"cost": {`1`, `"header:x-size"`, `{"attribute":"query:\u00fc"}`, `{"attribute":"cookie:n","default":0}`, `3`, `0`, `{"attribute":"header:n","default":1000000}`},
		"":     {`5`, `0`, `"5"`}, "concurrent": {`1`, `1000000`, `1000001`}, "wait": {`"3s"`, `"0s"`},
		"queue": {`0`, `5`, `10001`}, "order": {`"oldest"`, `"newest"`}, "lease": {`"1s"`, `"0s"`},
	},
}

// shared are the settings of every step.
var shared = map[string][]string{
	"name": {`"a"`, `"limit-2"`, `"deadline"`, `"A"`, `5`}, "shadow": {`true`, `"yes"`},
	"per": {`"ip"`, `["key","header:x-a"]`, `[]`, `"header:X"`, `["ip","ip"]`, `"cookie:A"`, `"query:"`}, "scope": {`"local"`, `"shared"`},
	"when": {
		`{"key":"a"}`, `{"header:x-plan":["free","trial"],"not":{"ip":"10.0.0.0/8"}}`, `[{"key":"a"},{"not":{"host":["a","b"],"path":""}}]`, `{"ip":["2001:db8::/32","192.0.2.1",""]}`,
		`{}`, `[]`, `{"not":{}}`, `{"key":["a","a"]}`, `{"ip":"10.0.0.0/33"}`, `{"key":5}`, `{"Key":"a"}`, `{"not":{"not":{"key":"a"}}}`, `{"query:ü":"é"}`, `"key"`, `[5,{"key":[]}]`, `{"key":"a","key":"b"}`,
	},
	"enforce": {`"10%"`, `{"share":"2.5%","by":"header:x-user"}`, `"100%"`, `"0%"`, `{"by":"key"}`, `{"share":"5%","by":"user"}`, `10`, `{"share":"5%","of":"key"}`},
	"keys":    {`1`, `10000000`, `0`}, "when_full": {`"evict"`, `"share"`, `"skip"`}, "missing": {`"share"`, `"deny"`, `"skip"`, `"deny-401"`, `"deny-403"`, `"evict"`},
}

// required are settings whose absence alone makes a step wrong.
var required = map[string]string{"timeout": "after", "limit": "rate", "bulkhead": "concurrent", "hedge": "after", "chaos": "fail"}

// Step returns a step in JSON whose settings are mostly few and mostly right.
func Step(random *rand.Rand) string {
	kinds := sortedKeys(pools)
	kind := kinds[random.IntN(len(kinds))]
	pick := func(values []string) string {
		if random.IntN(3) > 0 {
			return values[0]
		}
		return values[random.IntN(len(values))]
	}
	if short := pools[kind][""]; short != nil && random.IntN(5) == 0 {
		return `{"` + kind + `":` + pick(short) + `}`
	}
	var settings []string
	for _, from := range []map[string][]string{pools[kind], shared} {
		for _, name := range sortedKeys(from) {
			chance := 4
			if len(from) == len(shared) {
				chance = 12
			}
			if name != "" && (random.IntN(chance) == 0 || name == required[kind]) {
				settings = append(settings, `"`+name+`":`+pick(from[name]))
			}
		}
	}
	return `{"` + kind + `":{` + strings.Join(settings, ",") + `}}`
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// Steps returns a list of one to three steps in JSON.
func Steps(random *rand.Rand) string {
	steps := make([]string, 1+random.IntN(3))
	for i := range steps {
		steps[i] = Step(random)
	}
	return "[" + strings.Join(steps, ",") + "]"
}
