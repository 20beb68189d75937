package randompolicy

import (
	"math/rand/v2"
	"strings"
)

// Document returns a document in JSON of policies a, b and so on, most of which take
// settings from defaults, extend one another or share mechanisms.
func Document(random *rand.Rand) string {
	text := `{"version":1`
	if random.IntN(3) > 0 {
		text += `,"defaults":` + defaults(random)
	}
	if random.IntN(3) > 0 {
		text += `,"mechanisms":` + shares(random)
	}
	policies := make([]string, 1+random.IntN(4))
	for i := range policies {
		policies[i] = `"` + name(i) + `":` + policy(random, i)
	}
	random.Shuffle(len(policies), func(i, j int) { policies[i], policies[j] = policies[j], policies[i] })
	return text + `,"policies":{` + strings.Join(policies, ",") + `}}`
}

func name(i int) string { return string(rune('a' + i)) }

func of(random *rand.Rand, texts ...string) string { return texts[random.IntN(len(texts))] }

// policy returns the body of the policy of an index. One that extends another mostly
// extends one of a lower index.
func policy(random *rand.Rand, i int) string {
	var entries []string
	switch {
	case random.IntN(10) == 0:
		entries = append(entries, of(random, `"pass":true`, `"pass":true`, `"pass":false`, `"pass":1`))
	case i == 0 || random.IntN(4) == 0:
		entries = append(entries, `"steps":`+plainSteps(random))
	default:
		base := name(random.IntN(i))
		if random.IntN(12) == 0 {
			base = of(random, "a", "b", "z", "")
		}
		entries = append(entries, `"extends":"`+base+`"`)
	}
	extends := strings.HasPrefix(entries[0], `"extends"`)
	if extends && random.IntN(3) == 0 {
		entries = append(entries, `"remove":`+of(random, `"limit"`, `"timeout"`, `["retry"]`, `["limit","limit-2"]`, `[]`, `5`))
	}
	if extends && random.IntN(2) == 0 {
		entries = append(entries, `"change":[`+strings.Join(several(random, change), ",")+`]`)
	}
	if extends && random.IntN(2) == 0 {
		entries = append(entries, `"add":[`+strings.Join(several(random, added), ",")+`]`)
	}
	if random.IntN(6) == 0 {
		entries = append(entries, `"description":`+of(random, `"for tests"`, `"\u00fc\n"`, `5`))
	}
	if random.IntN(6) == 0 {
		entries = append(entries, `"fallback":`+of(random, `{}`, `{"status":500}`, `5`))
	}
	if random.IntN(20) == 0 {
		entries = append(entries, of(random, `"steps":[]`, `"pass":true`, `"extends":"a"`, `"add":[]`, `"stesp":5`))
	}
	return "{" + strings.Join(entries, ",") + "}"
}

func several(random *rand.Rand, one func(*rand.Rand) string) []string {
	list := make([]string, 1+random.IntN(2))
	for i := range list {
		list[i] = one(random)
	}
	return list
}

// plainSteps returns steps most of which are right, for policies that others extend.
func plainSteps(random *rand.Rand) string {
	if random.IntN(6) == 0 {
		return Steps(random)
	}
	var list []string
	for _, step := range []string{
		`{"timeout":"30s"}`, `{"retry":3}`, `{"breaker":{}}`, `{"limit":"5/s"}`, `{"limit":{"rate":"9/m","wait":"1s","queue":5}}`,
		`{"limit":{"algorithm":"sliding-log"}}`, `{"bulkhead":{"concurrent":5,"name":"a"}}`, `{"bulkhead":{}}`, `{"timeout":{"after":"2s","defaults":false}}`, `{"chaos":{"fail":"5%"}}`,
	} {
		if random.IntN(3) == 0 {
			list = append(list, step)
		}
		if random.IntN(30) == 0 {
			list = append(list, use(random))
		}
	}
	return "[" + strings.Join(list, ",") + "]"
}

// change returns a change of a step that plainSteps may return.
func change(random *rand.Rand) string {
	switch random.IntN(8) {
	case 0, 1:
		return Step(random)
	case 2:
		return use(random)
	}
	return of(random,
		`{"limit":"6/s"}`, `{"limit":{"wait":"2s"}}`, `{"limit":{"name":"limit-2","rate":"1/s"}}`, `{"limit":{"burst":2}}`, `{"timeout":{"soft":"1s"}}`, `{"timeout":"5s"}`,
		`{"bulkhead":{"name":"a","queue":0}}`, `{"retry":{"attempts":5}}`, `{"breaker":{"open":"5s"}}`, `{"breaker":{"name":"limit"}}`, `{"limt":5}`, `{}`, `5`,
		`{"limit":{"wait":"0s"}}`, `{"chaos":{"ignore":"96%"}}`)
}

// added returns a further step.
func added(random *rand.Rand) string {
	step := change(random)
	if !strings.HasPrefix(step, "{") || random.IntN(3) == 0 {
		return step
	}
	position := of(random, `"before":"limit"`, `"after":"limit"`, `"before":"timeout"`, `"after":"retry"`, `"after":"limit-2"`, `"before":5`, `"before":"limit","after":"limit"`)
	if step == "{}" {
		return "{" + position + "}"
	}
	return "{" + position + "," + step[1:]
}

// defaults returns defaults of some mechanisms.
func defaults(random *rand.Rand) string {
	var list []string
	for _, values := range [][]string{
		{`"timeout":{"soft":"1s"}`, `"timeout":"20s"`, `"timeout":{"per":"ip"}`},
		{`"retry":{"jitter":"20%"}`, `"retry":{"budget":"20%","per":"host"}`, `"retry":5`, `"retry":{"jitter":"ful"}`},
		{`"limit":{"wait":"1s"}`, `"limit":{"queue":5}`, `"limit":{"rate":"7/s"}`, `"limit":"7/s"`, `"limit":{"burst":3}`, `"limit":{"name":"a"}`, `"limit":{"per":"key","missing":"deny"}`},
		{`"bulkhead":7`, `"bulkhead":{"queue":5}`, `"bulkhead":{"order":"newest"}`, `"bulkhead":"7"`},
		{`"breaker":{"per":"host"}`, `"breaker":{"window":{"consecutive":5}}`, `"breaker":{"shadow":true}`},
		{`"chaos":{}`, `"hedge":{"after":"1s"}`, `"adaptive":{"scope":"local"}`, `"hedge":"1s"`, `"shed":5`},
	} {
		if random.IntN(3) == 0 {
			if random.IntN(2) == 0 {
				values = values[:2]
			}
			list = append(list, of(random, values...))
		}
	}
	return "{" + strings.Join(list, ",") + "}"
}

// shares returns mechanisms that policies share, most of which are right.
func shares(random *rand.Rand) string {
	var list []string
	for _, values := range [][]string{
		{`"vendor":{"limit":"5/s"}`, `"vendor":{"limit":{"rate":"5/s","per":"key"}}`, `"vendor":{"limit":{"wait":"1s"}}`, `"vendor":{"limit":{"rate":"5/s","name":"a"}}`},
		{`"again":{"retry":{"attempts":3,"budget":"20%"}}`, `"again":{"retry":3}`, `"again":{"retry":{"jitter":"ful"}}`},
		{`"time":{"timeout":"3s"}`, `"time":{"timeout":{"after":"3s","shadow":true,"description":"d"}}`, `"time":{"timeout":{"after":"3s","defaults":false}}`},
		{`"places":{"bulkhead":{"concurrent":5,"shadow":true}}`, `"places":{"bulkhead":5}`, `"places":{"bulkhead":{}}`},
		{`"deadline":{"breaker":{}}`, `"Vendor":{"breaker":{}}`, `"vendor":{"breaker":{}}`, `"x":{"use":"vendor"}`, `"x":{"limt":5}`, `"x":5`, `"x":{}`},
	} {
		if random.IntN(12) > 0 && len(values) < 7 || random.IntN(40) == 0 {
			if random.IntN(8) > 0 {
				values = values[:1]
			}
			list = append(list, of(random, values...))
		}
	}
	return "{" + strings.Join(list, ",") + "}"
}

// use returns a step that uses a mechanism.
func use(random *rand.Rand) string {
	name := of(random, `"vendor"`, `"vendor"`, `"again"`, `"time"`, `"time"`, `"places"`)
	switch random.IntN(16) {
	case 0:
		name = of(random, `"place"`, `{"mechanism":`+name+`,"per":"key"}`, `{"mechanism":5}`, `{}`, `{"name":"a"}`, `5`, `["vendor"]`, `{"mechanism":`+name+`,"shadow":5,"name":"A b"}`)
	case 1, 2, 3, 4, 5, 6:
		name = `{"mechanism":` + name + of(random, `,"name":"mine"`, `,"shadow":true`, `,"shadow":false,"name":"limit"`, `,"description":"why"`) + `}`
	}
	return `{"use":` + name + `}`
}
