// Package randompolicy makes random policies for the tests of the readers of
// documents.
package randompolicy

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
)

// pools are values of each type, as JSON: some right, some wrong, some that depend on other
// settings.
var pools = map[mechanism.Type][]string{
	mechanism.Duration: {`"1s"`, `"10s"`, `"1ns"`, `"0.0s"`, `"00d"`, `"1d"`, `"31d"`, `"-1s"`, `"x"`, `10`},
	mechanism.Share:    {`"50%"`, `"100%"`, `"0.0001%"`, `"99.9999%"`, `"50.0001%"`, `"0%"`, `"101%"`, `50`, `"05%"`, `"5.00001%"`},
	mechanism.Chance:   {`"50%"`, `"100%"`, `"0.0001%"`, `"99.9999%"`, `"50.0001%"`, `"0%"`, `"101%"`, `50`, `"05%"`, `"5.00001%"`},
	mechanism.Bool:     {`true`, `false`, `"true"`},
	mechanism.Words: {
		`"fail"`, `["fail"]`, `["cancel","ok"]`, `["ok","fail","throttle","ignore","timeout","cancel"]`, `["ok","ok"]`, `[]`, `"failed"`, `[5]`,
	},
	mechanism.Rate: {
		`"50/1m"`, `"50/m"`, `"1000000000/s"`, `"1000000001/1h"`, `"2/1ns"`, `"1/20000d"`, `"05/s"`, `"5/0s"`, `"1000/day"`, `"5/week"`, `"1000000000/month"`, `"0/day"`, `"5/hour"`, `"5/Day"`,
	},
	mechanism.Delay: {`"200ms"`, `"p95"`, `"p99.9"`, `"p0"`, `"0s"`, `5`},
	mechanism.Bound: {`"5s"`, `"1ns"`, `"0s"`, `"60%"`, `"0%"`, `"100%"`, `60`},
	mechanism.Backoff: {
		`"none"`, `{"constant":"1s"}`, `{"linear":"1s","max":"5s"}`, `{"exponential":"1s"}`, `{"exponential":"1s","factor":1.5,"max":"1m"}`,
		`{"fibonacci":"1s"}`, `{"decorrelated":"1s"}`, `{"decorrelated":"1s","max":"1m"}`, `{"linear":"1s","factor":2}`, `{"constant":"1s","max":"2s"}`, `{}`, `"1s"`, `{"linear":"2s","max":"1s"}`, `{"exponential":"2m"}`,
		`{"delays":["100ms","1s","5s"]}`, `{"delays":["0s"]}`, `{"delays":[]}`, `{"delays":"1s"}`, `{"delays":["1s",5]}`, `{"delays":["1s"],"max":"1s"}`, `{"delays":["1s"],"factor":2}`,
	},
	mechanism.OpenTime: {
		`"30s"`, `{"exponential":"1s","max":"1m","jitter":"full"}`, `{"decorrelated":"1s","jitter":"full"}`, `{"decorrelated":"1s","jitter":"none"}`, `"none"`, `{"constant":"1s","jitter":"5%"}`, `{"delays":["1s","10s"],"jitter":"full"}`, `{"delays":["10s"]}`,
	},
	mechanism.BlockTime: {
		`"1m"`, `"0s"`, `{"exponential":"1m","factor":2,"max":"1h"}`, `{"exponential":"25h"}`, `{"linear":"1m"}`, `{"fibonacci":"1s","max":"1m"}`, `{"delays":["1m","1h"]}`, `{"delays":["0s"]}`, `{"decorrelated":"1s"}`, `{"exponential":"1m","jitter":"full"}`, `{"linear":"1h","max":"1m"}`, `{"constant":"1m"}`, `{"constant":"1m","max":"1h"}`,
	},
	mechanism.Jitter: {`"none"`, `"full"`, `"equal"`, `"20%"`, `"0%"`, `20`},
	mechanism.Budget: {
		`"none"`, `"20%"`, `"1000%"`, `"1000.1%"`, `{"ratio":"0%"}`, `{"ratio":"5%","minimum":"0/s","window":"10ns"}`, `{"minimum":"1/s"}`, `{"ratio":"5%","window":"9ns"}`,
		`{"tokens":500}`, `{"tokens":3}`, `{"tokens":20,"retry":7,"timeout":20,"refund":2}`, `{"tokens":4,"retry":5,"refund":0}`, `{"tokens":"5","retry":5}`,
		`{"max_tokens":10,"token_ratio":0.1}`, `{"max_tokens":1000,"token_ratio":1000}`, `{"max_tokens":10,"token_ratio":"0.1"}`, `{"max_tokens":1001,"token_ratio":1.2345}`,
		`{"tokens":5,"max_tokens":5}`, `{"ratio":"5%","tokens":5,"refund":1}`, `{"max_tokens":5}`, `{"tokens":5,"window":"1s","token_ratio":1}`, `{"ratio":"5%","timeout":3,"token_ratio":0.5}`, `{"token":5}`, `{}`,
		`{"adaptive":"10s"}`, `{"adaptive":"10s","one_above":"30%","two_above":"5%","wait":"1s"}`, `{"adaptive":"9ns","wait":"0s"}`, `{"adaptive":"1s","one_above":"10%"}`,
		`{"adaptive":"1s","two_above":"60%"}`, `{"adaptive":5}`, `{"adaptive":"1s","tokens":5}`, `{"ratio":"5%","one_above":"5%"}`, `{"adaptive":"1s","retry":5,"one_above":"0%"}`,
	},
	mechanism.Methods: {`"GET"`, `["GET","POST"]`, `[]`, `"get"`, `["PUT","PUT"]`},
	mechanism.Cost: {
		`1`, `4`, `"header:x-cost"`, `{"attribute":"query:\u00fc"}`, `{"attribute":"cookie:n","default":0}`, `0`, `"key"`, `"Header:x"`, `{"default":2}`,
	},
	mechanism.Attribute: {`"header:x-plan"`, `"key"`, `"ip"`, `"plan"`, `5`},
	mechanism.Rates: {
		`{"free":"5/s"}`, `{"free":"5/s","pro":"1000000000/s"}`, `{"free":"50000/m","Pro":5}`, `{}`, `"5/s"`, `{"a":"1/20000d","a":"1/s"}`, `{"a":"5/day","b":"5/month"}`,
		`{"a":"1/s","b":"1/s","c":"1/s","d":"1/s","e":"1/s","f":"1/s","g":"1/s","h":"1/s","i":"1/s","j":"1/s","k":"1/s","l":"1/s","m":"1/s","n":"1/s","o":"1/s","p":"1/s"}`,
	},
	mechanism.Zone: {`"UTC"`, `"CET-1CEST,M3.5.0,M10.5.0/3"`, `"+02:00"`, `"-11:30"`, `"<-03>3"`, `"Europe/Berlin"`, `"+25:00"`, `5`},
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

// value is a setting of a mechanism with values for it, the first of which is right in most steps.
type value struct {
	name     string
	required bool
	values   func(*rand.Rand) string
}

// settings of each mechanism. That without a name is the short form.
var settings = func() map[string][]value {
	all := map[string][]value{}
	for k := mechanism.Kind(1); int(k) < mechanism.Kinds; k++ {
		row := mechanisms.Row(k)
		if row == nil {
			continue
		}
		list := valuesOf(mechanisms.Docs(k), row.Settings, "")
		short := value{values: from([]string{`"10s"`, `5`, `"5"`, `0`})}
		for _, v := range list {
			if v.name == row.Short {
				short.values = v.values
			}
		}
		all[k.String()] = append(list, short)
	}
	return all
}()

// valuesOf returns settings with their values, by the examples and defaults of their texts, by
// their types and by the ends of their ranges.
func valuesOf(docs *mechanism.Docs, list []mechanism.Setting, prefix string) (all []value) {
	for i := range list {
		s, doc := &list[i], docs.Setting(prefix+list[i].Name)
		v := value{name: s.Name, required: s.Required && s.Or == ""}
		values := []string{exampleOf(doc)}
		if doc.Value != "" {
			values = append(values, doc.Value)
		}
		switch s.Type {
		case mechanism.Count:
			values = append(values, number(s.Least), number(s.Most), number(s.Most+1), `2.5`, `"5"`)
			if s.Least > 0 {
				values = append(values, number(s.Least-1))
			}
		case mechanism.Cost:
			values = append(append(values, pools[s.Type]...), `{"attribute":"header:n","default":`+number(s.Most)+`}`)
		case mechanism.Word:
			for _, word := range strings.Fields(s.Words) {
				values = append(values, `"`+word+`"`)
			}
			values = append(values, `"any"`, `true`)
		default:
			values = append(values, pools[s.Type]...)
		}
		v.values = from(values)
		if len(s.Parts) > 0 {
			v.values = whole(s, values[0], valuesOf(docs, s.Parts, prefix+s.Name+"."))
		}
		all = append(all, v)
	}
	return all
}

// from picks one of the values, the first more often.
func from(values []string) func(*rand.Rand) string {
	return func(random *rand.Rand) string {
		if random.IntN(3) > 0 {
			return values[0]
		}
		return values[random.IntN(len(values))]
	}
}

// whole picks the example of a map, a map of some parts, or another value.
func whole(s *mechanism.Setting, example string, parts []value) func(*rand.Rand) string {
	return func(random *rand.Rand) string {
		switch random.IntN(8) {
		case 0:
			return of(random, `{}`, `"30s"`, `5`, `["30s"]`, `"none"`, `{"unknown":5}`)
		case 1, 2, 3:
			return example
		}
		chosen, variants := random.IntN(len(parts)), s.Type == mechanism.OneOf
		var list []string
		for i, part := range parts {
			switch {
			case variants && (i == chosen || random.IntN(8) == 0), !variants && random.IntN(2) == 0, part.required && random.IntN(8) > 0:
				list = append(list, `"`+part.name+`":`+part.values(random))
			}
		}
		if s.Short != "" && random.IntN(3) == 0 {
			return parts[slices.IndexFunc(parts, func(v value) bool { return v.name == s.Short })].values(random)
		}
		return "{" + strings.Join(list, ",") + "}"
	}
}

// exampleOf returns the value of the example of a setting in JSON.
func exampleOf(doc *mechanism.Doc) string {
	var entry map[string]any
	err := yaml.Unmarshal([]byte(doc.Example), &entry)
	if err != nil || len(entry) != 1 {
		panic("randompolicy: the example of " + doc.Name + " is no entry: " + doc.Example)
	}
	for _, v := range entry {
		if text, err := json.Marshal(v); err == nil {
			return string(text)
		}
	}
	panic("randompolicy: the example of " + doc.Name)
}

func number(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// Step returns a step in JSON whose settings are mostly few and mostly right.
func Step(random *rand.Rand) string {
	kinds := sortedKeys(settings)
	kind := kinds[random.IntN(len(kinds))]
	list := settings[kind]
	if random.IntN(5) == 0 {
		return `{"` + kind + `":` + list[len(list)-1].values(random) + `}`
	}
	var given []string
	for _, s := range list[:len(list)-1] {
		if random.IntN(6) == 0 || s.required || s.name == usual[kind] {
			given = append(given, `"`+s.name+`":`+s.values(random))
		}
	}
	for _, name := range sortedKeys(shared) {
		if random.IntN(12) == 0 {
			given = append(given, `"`+name+`":`+from(shared[name])(random))
		}
	}
	return `{"` + kind + `":{` + strings.Join(given, ",") + `}}`
}

// usual are settings that most steps of a mechanism have.
var usual = map[string]string{"hedge": "after", "chaos": "fail"}

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
