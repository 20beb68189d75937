// Package randomscenario makes random scenarios for the tests of the simulator.
package randomscenario

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/sluice-go/sluice/internal/randompolicy"
)

// Distributions of times, as JSON.
var times = []string{
	`"20ms"`, `{"constant":"5ms"}`, `{"exponential":"30ms"}`, `{"uniform":["1ms","90ms"]}`, `{"lognormal":{"median":"20ms","sigma":1.2}}`,
	`{"pareto":{"scale":"5ms","shape":1.5}}`, `{"pareto":{"scale":"5ms","shape":0.01}}`, `{"erlang":{"mean":"30ms","k":4}}`,
	`{"hyperexponential":[[9,"10ms"],[1,"300ms"]]}`, `{"lognormal":{"median":"1s","sigma":10}}`, `"0s"`,
}

var arrivals = []string{
	`{"poisson":"%d/s"}`, `{"constant":"%d/s"}`, `{"ramp":{"from":"0/s","to":"%d/s"}}`, `{"ramp":{"from":"%d/s","to":"3/s"}}`,
	`{"gaps":{"lognormal":{"median":"10ms","sigma":1}}}`, `{"bursts":{"size":%d,"every":{"exponential":"1s"}}}`,
	`{"closed":{"users":%d,"think":{"exponential":"500ms"}}}`,
	`{"steps":[{"for":"3s","poisson":"%[1]d/s"},{"for":"2s","constant":"%[1]d/s"},{"for":"5s","ramp":{"from":"1/s","to":"%[1]d/s"}}]}`,
}

var keys = []string{`"one"`, `{"uniform":5}`, `{"zipf":{"n":1000,"s":1.1}}`, `{"weights":{"gold":1,"free":9}}`}

var faults = []string{
	`{"at":"2s","for":"3s","slow":4}`, `{"at":"4s","for":{"exponential":"1s"},"every":{"exponential":"2s"},"fail":"30%"}`,
	`{"at":"1s","for":"2s","throttle":"50%","retry_after":"300ms"}`, `{"at":"3s","for":"1s","servers":0}`,
	`{"every":{"exponential":"1s"},"for":{"uniform":["10ms","80ms"]},"pause":true}`, `{"at":"5s","for":"500ms","restart":true}`, `{"at":"1s","for":"4s","slow":0}`,
}

type source struct{ *rand.Rand }

func (r source) pick(list []string) string { return list[r.IntN(len(list))] }

// maybe returns a setting in one of so many cases.
func (r source) maybe(cases int, name, value string) string {
	if r.IntN(cases) > 0 {
		return ""
	}
	return fmt.Sprintf(`,"%s":%s`, name, value)
}

// list returns up to most items of a pool, as JSON.
func (r source) list(pool []string, most int) string {
	items := make([]string, 1+r.IntN(most))
	for i := range items {
		items[i] = r.pick(pool)
	}
	return "[" + strings.Join(items, ",") + "]"
}

// JSON returns a scenario of ten seconds. Its settings are all right but for the settings of
// its policies, p and q. valid decides about these: it is given the steps of a policy.
func JSON(random *rand.Rand, valid func(steps string) bool) string {
	r := source{random}
	var policies [2]string
	for i := range policies {
		for {
			if policies[i] = randompolicy.Steps(random); valid(policies[i]) {
				break
			}
		}
	}
	clients := make([]string, 1+r.IntN(3))
	for i := range clients {
		clients[i] = r.client(i)
	}
	return fmt.Sprintf(`{"version":1,"seed":%d,"duration":"10s"%s,"policies":{"p":{"steps":%s},"q":{"steps":%s}},"clients":[%s],"services":[%s,%s]}`,
		r.Uint64(), r.maybe(2, "warmup", `"1500ms"`), policies[0], policies[1], strings.Join(clients, ","), r.front(), r.service("back"))
}

func (r source) client(i int) string {
	arrival := r.pick(arrivals)
	if strings.Contains(arrival, "%") {
		arrival = fmt.Sprintf(arrival, 1+r.IntN(150))
	}
	return fmt.Sprintf(`{"name":"client-%d","to":"%s","arrivals":%s`, i, r.pick([]string{"front", "back"}), arrival) +
		r.maybe(1+i, "policy", `"p"`) + r.maybe(2, "key", r.pick(keys)) + r.maybe(4, "attributes", `{"ip":`+r.pick(keys)+`}`) +
		r.maybe(4, "cost", `{"uniform":[1,3]}`) + r.maybe(4, "deadline", `"150ms"`) + r.maybe(4, "patience", r.pick(times)) +
		r.maybe(4, "repeats", `{"times":2,"wait":{"exponential":"50ms"}}`) + r.maybe(6, "clock", `[{"at":"3s","forward":"2s"},{"at":"6s","back":"5s"}]`) + "}"
}

// front is a service that may call the other one.
func (r source) front() string {
	one := strings.TrimSuffix(r.service("front"), "}")
	return one + r.maybe(2, "calls", r.pick([]string{`[{"to":"back"}]`, `[{"to":"back","policy":"q"},{"to":"back"}]`, `[{"to":"back","optional":true},{"to":"back","policy":"q","optional":true}]`})) + r.maybe(2, "parallel", "true") + "}"
}

func (r source) service(name string) string {
	one := fmt.Sprintf(`{"name":"%s","time":%s,"servers":%d`, name, r.pick(times), 1+r.IntN(8)) +
		r.maybe(2, "queue", fmt.Sprint(r.IntN(40))) + r.maybe(3, "fail", `"5%"`) + r.maybe(3, "abandon", "true") +
		r.maybe(4, "policy", `"q"`) + r.maybe(4, "warm_up", `{"for":"2s","slow":5}`) +
		r.maybe(4, "drift", `{"every":"700ms","sigma":0.4,"correlation":0.9}`) + r.maybe(2, "faults", r.list(faults, 3))
	if r.IntN(4) == 0 {
		one = strings.Replace(one, `"faults":[`, `"faults":[{"at":"7s","flush":true},`, 1) + `,"cache":{"hit":"1ms","for":"3s"}`
	}
	return one + "}"
}
