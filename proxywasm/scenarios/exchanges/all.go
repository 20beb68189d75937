package exchanges

// ok and the statuses of refusals.
const (
	ok          = 200
	overLimit   = 429
	unavailable = 503
)

// All returns the scenarios.
func All() []Scenario {
	limited := Problem("quota-exceeded", "Request cannot be satisfied as assigned quota has been exceeded", "Too many requests for now.", "rate", "limit", overLimit)
	return append([]Scenario{
		{
			Name:     "a limit and its whole refusal",
			Document: steps(`{"limit":{"rate":"1/1h"}}`),
			Exchanges: []Exchange{
				{Answer: 204, Want: map[string]string{"ratelimit": "", "ratelimit-policy": "", "retry-after": ""}},
				{Status: overLimit, Body: limited, Want: map[string]string{
					"retry-after": "3600", "ratelimit": `"limit";r=0;t=3600`, "ratelimit-policy": `"limit";q=1;w=3600`,
					"content-type": "application/problem+json", "cache-control": "no-store", "x-throttle-reason": "rate",
				}},
			},
		},
		{
			Name:     "the headers of limits on all answers",
			Document: steps(`{"limit":{"rate":"2/1h"}}`),
			Proxy:    `"headers":"all"`,
			Exchanges: []Exchange{
				{Want: map[string]string{"ratelimit": `"limit";r=1;t=1800`, "ratelimit-policy": `"limit";q=2;w=3600`}},
				{Want: map[string]string{"ratelimit": `"limit";r=0;t=1800`, "ratelimit-policy": `"limit";q=2;w=3600`}},
				{Status: overLimit, Want: map[string]string{"ratelimit": `"limit";r=0;t=1800`, "retry-after": "1800"}},
			},
		},
		{
			Name:     "two limits",
			Document: steps(`{"limit":{"rate":"3/1h","name":"day"}},{"limit":{"rate":"2/1h","name":"user","per":"header:x-user"}}`),
			Exchanges: []Exchange{
				{Times: 2, Header: []string{"x-user", "a"}},
				{Header: []string{"x-user", "a"}, Status: overLimit, Want: map[string]string{
					"ratelimit-policy": `"day";q=3;w=3600, "user";q=2;w=3600`, "x-throttle-reason": "rate",
				}},
				// The refusal by the second limit gave the permit of the first one back.
				{Header: []string{"x-user", "b"}},
				{Header: []string{"x-user", "b"}, Status: overLimit},
			},
		},
		{
			Name:     "keys by header",
			Document: steps(`{"limit":{"rate":"3/1h","per":"header:x-tenant"}}`),
			Exchanges: []Exchange{
				{Times: 3, Header: []string{"x-tenant", "a"}},
				{Times: 2, Header: []string{"x-tenant", "a"}, Status: overLimit},
				{Times: 3, Header: []string{"x-tenant", "b"}},
				{Times: 3},
				{Times: 2, Status: overLimit},
				{Header: []string{"x-tenant", "b"}, Status: overLimit},
			},
		},
		{
			Name:     "keys by cookie",
			Document: steps(`{"limit":{"rate":"1/1h","per":"cookie:session"}}`),
			Exchanges: []Exchange{
				{Header: []string{"cookie", "session=a; theme=dark"}},
				{Header: []string{"cookie", "theme=light; session=a"}, Status: overLimit},
				{Header: []string{"cookie", "session=b"}},
				{Header: []string{"cookie", "session=a; session=b"}, Status: 400, Want: map[string]string{"x-throttle-reason": "key"}},
			},
		},
		{
			Name:     "keys by query, method and path",
			Document: steps(`{"limit":{"rate":"1/1h","per":["query:user","method","path"]}}`),
			Exchanges: []Exchange{
				{Path: "/a?user=1&x=2"},
				{Path: "/a?x=3&user=1", Status: overLimit},
				{Path: "/%61/b/../?user=1"},
				{Path: "/a?user=2"},
				{Path: "/b?user=1"},
				{Method: "POST", Path: "/a?user=1"},
				{Path: "/a?user=1&user=2", Status: 400, Want: map[string]string{"x-throttle-reason": "key"}},
			},
		},
		{
			Name:     "keys by host",
			Document: steps(`{"limit":{"rate":"1/1h","per":"host"}}`),
			Exchanges: []Exchange{
				{Host: "a.test"},
				{Host: "A.test:80", Status: overLimit},
				{Host: "b.test"},
			},
		},
		{
			Name:     "keys that a request lacks",
			Document: steps(`{"limit":{"rate":"1/1h","name":"one","per":"header:x-a","missing":"deny"}},{"limit":{"rate":"1/1h","name":"two","per":"header:x-b","missing":"skip"}}`),
			Exchanges: []Exchange{
				{Status: overLimit, Want: map[string]string{"x-throttle-reason": "missing", "retry-after": ""}},
				{Header: []string{"x-a", "1"}},
				{Header: []string{"x-a", "1"}, Status: overLimit, Want: map[string]string{"x-throttle-reason": "rate"}},
				{Header: []string{"x-a", "2", "x-b", "1"}},
				{Header: []string{"x-a", "3", "x-b", "1"}, Status: overLimit, Want: map[string]string{"x-throttle-reason": "rate"}},
				{Header: []string{"x-a", "4"}},
			},
		},
		{
			Name:     "the cost in a header",
			Document: steps(`{"limit":{"rate":"10/1h"}}`),
			Proxy:    `"cost":"header:x-cost"`,
			Exchanges: []Exchange{
				{Header: []string{"x-cost", "7"}},
				{Header: []string{"x-cost", "4"}, Status: overLimit, Want: map[string]string{"x-throttle-reason": "rate", "retry-after": "360"}},
				{Header: []string{"x-cost", "2"}},
				{Header: []string{"x-cost", "two"}}, // costs 1
				{Header: []string{"x-cost", "0"}, Status: overLimit},
				{Header: []string{"x-cost", "11"}, Status: overLimit, Want: map[string]string{"x-throttle-reason": "capacity", "retry-after": ""}},
			},
		},
		{
			Name:     "the key in a header",
			Document: steps(`{"limit":{"rate":"1/1h","per":"key"}}`),
			Proxy:    `"key":"header:x-user"`,
			Exchanges: []Exchange{
				{Header: []string{"x-user", "a"}},
				{Header: []string{"x-user", "a"}, Status: overLimit},
				{Header: []string{"x-user", "b"}},
				{}, {Status: overLimit},
			},
		},
		{
			Name:     "fallback",
			Document: `{"version":1,"policies":{"all":{"steps":[{"limit":{"rate":"1/1h"}}],"fallback":{"status":418,"body":"{\"tea\":true}"}}},"routes":[{"path":"/**","policy":"all"}]}`,
			Exchanges: []Exchange{
				{},
				{Status: 418, Body: `{"tea":true}`, Want: map[string]string{"content-type": "application/json", "retry-after": "3600", "x-throttle-reason": "rate"}},
			},
		},
		{
			Name:     "fallback as text",
			Document: `{"version":1,"policies":{"all":{"steps":[{"limit":{"rate":"1/1h"}}],"fallback":{"status":200,"body":"{later"}}},"routes":[{"path":"/**","policy":"all"}]}`,
			Exchanges: []Exchange{
				{Answer: 202},
				{Status: ok, Body: "{later", Want: map[string]string{"content-type": "text/plain; charset=utf-8"}},
			},
		},
		{
			Name: "routes",
			Document: `{"version":1,"policies":{"one":{"steps":[{"limit":{"rate":"1/1h"}}]},"two":{"steps":[{"limit":{"rate":"2/1h"}}]}},
				"routes":[{"path":"/a/*","method":"POST","policy":"one"},{"path":"/a/**","policy":"two"},{"path":"/b","host":"b.test","policy":"one"}]}`,
			Exchanges: []Exchange{
				{Times: 2, Path: "/a/x", UpstreamPath: "/a/x"},
				{Path: "/a/x", Status: overLimit},
				{Path: "/%61/y/../x?q", Status: overLimit},
				{Times: 3, Path: "/b"},
				{Times: 3},
				{Method: "POST", Path: "/a/x"},
				{Method: "POST", Path: "/a/y", Status: overLimit},
				{Host: "b.test", Path: "/b", Status: overLimit},
			},
		},
		{
			Name:     "paths as they are compared",
			Document: steps(`{"limit":{"rate":"9/1h"}}`),
			Exchanges: []Exchange{
				{Path: "/a/../b/%63?x=%41", UpstreamPath: "/b/c?x=%41"},
				{Path: "/a%00b", Status: 400, Want: map[string]string{"x-throttle-reason": "path", "content-type": "application/problem+json"}},
			},
		},
		{
			Name: "no route",
			Document: `{"version":1,"policies":{"one":{"steps":[{"limit":{"rate":"1/1h"}}]}},
				"routes":[{"path":"/a","policy":"one"}],"http":{"default":"deny"}}`,
			Exchanges: []Exchange{
				{Path: "/a"},
				{Path: "/b", Status: 403, Want: map[string]string{"x-throttle-reason": "route"},
					Body: `{"type":"about:blank","title":"Forbidden","status":403,"detail":"No route of this service matches the request.","reason":"route"}` + "\n"},
			},
		},
		{
			Name: "a route of the proxy names the policy",
			Document: `{"version":1,"policies":{"one":{"steps":[{"limit":{"rate":"1/1h"}}]},"two":{"steps":[{"limit":{"rate":"2/1h"}}]}},
				"routes":[{"path":"/**","policy":"two"}]}`,
			Routes: []Route{{"/strict", "one"}, {"/wrong", "ne"}},
			Exchanges: []Exchange{
				{Path: "/strict"},
				{Path: "/strict", Status: overLimit},
				{Times: 2, Path: "/other"},
				{Path: "/other", Status: overLimit},
				{Path: "/wrong", Status: 500, Want: map[string]string{"x-throttle-reason": "policy"}},
			},
		},
		{
			Name:      "shadow",
			Document:  steps(`{"limit":{"rate":"1/1h","shadow":true}}`),
			Exchanges: []Exchange{{Times: 5, Want: map[string]string{"ratelimit": "", "x-throttle-reason": ""}}},
		},
		{
			Name:     "below a step in shadow",
			Document: steps(`{"breaker":{"window":{"consecutive":1},"open":"1h","shadow":true}},{"limit":{"rate":"2/1h"}}`),
			Exchanges: []Exchange{
				{Times: 2, Answer: 500},
				{Status: overLimit},
			},
		},
		{
			Name:     "a breaker and the classes of outcomes",
			Document: `{"version":1,"policies":{"all":{"steps":[{"breaker":{"window":{"consecutive":2},"open":"1h"}}],"outcomes":{"fail":["5xx",418],"ignore":[501]}}},"routes":[{"path":"/**","policy":"all"}]}`,
			Exchanges: []Exchange{
				{Answer: 500}, {}, {Answer: 418},
				{Answer: 404}, // a success
				{Times: 3, Answer: 501},
				{Answer: 503}, {Answer: 429}, {Answer: 502}, // the second failure in a row
				{Times: 2, Status: unavailable, Want: map[string]string{"x-throttle-reason": "open", "retry-after": "3600", "ratelimit": ""},
					Body: Problem("temporary-reduced-capacity", "Request cannot be satisfied due to temporary server capacity constraints",
						"The service is failing and is given time to recover.", "open", "breaker", unavailable)},
			},
		},
		{
			Name:     "a breaker by the rate of failures",
			Document: steps(`{"breaker":{"window":{"calls":4},"minimum":4,"failure_rate":"50%","slow":{"over":"1m","rate":"50%"},"open":"1h"}}`),
			Exchanges: []Exchange{
				{Times: 6},
				{Times: 2, Answer: 500},
				{Status: unavailable},
			},
		},
		{
			Name:     "a bulkhead whose places come back",
			Document: steps(`{"bulkhead":{"concurrent":1}}`),
			Exchanges: []Exchange{
				{Times: 4}, {Times: 2, Answer: 500}, {Times: 2, GRPC: true}, {Times: 2, GRPC: true, Answer: 14}, {},
			},
		},
		{
			Name:     "a call of gRPC over a limit",
			Document: steps(`{"limit":{"rate":"8/1h"}}`),
			Exchanges: []Exchange{
				{Times: 8, GRPC: true},
				{GRPC: true, Status: 8, Want: map[string]string{
					"grpc-message": "Too many requests for now.", "grpc-retry-pushback-ms": "450000", "content-type": "application/grpc",
				}},
				{Status: overLimit, Body: limited},
			},
		},
		{
			Name:     "a breaker and the statuses of gRPC",
			Document: steps(`{"breaker":{"window":{"consecutive":3},"open":"1h"}}`),
			Exchanges: []Exchange{
				{GRPC: true}, {Times: 2, GRPC: true, Answer: 14},
				{GRPC: true},                      // a success between failures
				{Times: 4, GRPC: true, Answer: 5}, // no failure of the dependency
				{Times: 3, GRPC: true, Answer: 13},
				{GRPC: true, Status: 14, Want: map[string]string{
					"grpc-message": "The service is failing and is given time to recover.", "grpc-retry-pushback-ms": "3600000",
				}},
				{Status: unavailable},
			},
		},
	}, algorithms()...)
}

// algorithms has a scenario for each algorithm of limits.
func algorithms() (list []Scenario) {
	for _, name := range []string{"token-bucket", "fixed-window", "sliding-counter", "sliding-log"} {
		list = append(list, Scenario{
			Name:     name,
			Document: steps(`{"limit":{"rate":"5/1h","algorithm":"` + name + `"}}`),
			Exchanges: []Exchange{
				{Times: 5},
				{Times: 3, Status: overLimit, Want: map[string]string{"x-throttle-reason": "rate"}},
			},
		})
	}
	return list
}
