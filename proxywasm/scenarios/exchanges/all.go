package exchanges

import "strings"

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
					"content-type": "application/problem+json", "cache-control": "no-store", "x-throttle-reason": "rate", "x-envoy-ratelimited": "true",
				}},
				{GRPC: true, Status: 8, Want: map[string]string{"x-envoy-ratelimited": "true"}},
			},
		},
		{
			Name:     "a limit that leaves the header of Envoy out",
			Document: steps(`{"limit":{"rate":"1/1h"}}`),
			Proxy:    `"ratelimited_header":false`,
			Exchanges: []Exchange{
				{Answer: 204},
				{Status: overLimit, Want: map[string]string{"x-envoy-ratelimited": "", "x-throttle-reason": "rate"}},
			},
		},
		{
			Name:     "refusals without the header of Envoy",
			Document: `{"version":1,"policies":{"all":{"deny":{"header:x-agent":"scraper"},"fallback":{"status":200,"body":"later"},"steps":[{"limit":{"rate":"1/1h"}}]}},"routes":[{"path":"/**","policy":"all"}]}`,
			Exchanges: []Exchange{
				{Header: []string{"x-agent", "scraper"}, Status: 403, Want: map[string]string{"x-envoy-ratelimited": ""}},
				{Answer: 500, Want: map[string]string{"x-envoy-ratelimited": ""}},
				{Status: 200, Body: "later", Want: map[string]string{"x-envoy-ratelimited": "", "x-throttle-reason": "rate"}},
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
			Name:     "the older headers of limits",
			Document: steps(`{"limit":{"rate":"5/1h","name":"all"}},{"limit":{"rate":"2/1h","name":"user","per":"header:x-user"}}`),
			Proxy:    `"legacy_headers":true`,
			Exchanges: []Exchange{
				{Times: 2, Header: []string{"x-user", "a"}, Want: map[string]string{"x-ratelimit-limit": "", "x-ratelimit-remaining": "", "x-ratelimit-reset": ""}},
				{Header: []string{"x-user", "a"}, Status: overLimit, Want: map[string]string{
					"retry-after": "1800", "x-ratelimit-limit": "2", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1800",
				}},
			},
		},
		{
			Name:     "the older headers of limits on all answers",
			Document: steps(`{"limit":{"rate":"2/1h"}}`),
			Proxy:    `"headers":"all","legacy_headers":true`,
			Exchanges: []Exchange{
				{Want: map[string]string{"x-ratelimit-limit": "2", "x-ratelimit-remaining": "1", "x-ratelimit-reset": "1800"}},
				{Want: map[string]string{"x-ratelimit-limit": "2", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1800", "ratelimit": `"limit";r=0;t=1800`}},
				{Times: 2, Status: overLimit, Want: map[string]string{"x-ratelimit-limit": "2", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1800"}},
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
			Name:     "a header that is a key in several lines",
			Document: steps(`{"limit":{"rate":"2/1h","per":"header:x-tenant-id"}}`),
			Exchanges: []Exchange{
				{Header: []string{"x-tenant-id", "a"}},
				{Header: []string{"x-tenant-id", "a", "x-tenant-id", "a"}},
				{Header: []string{"x-tenant-id", "a", "x-tenant-id", "a", "x-tenant-id", "a"}, Status: overLimit},
				{Header: []string{"x-tenant-id", "b", "x-tenant-id", "a"}, Status: 400, Want: map[string]string{"x-throttle-reason": "key"},
					Body: `{"type":"about:blank","title":"Bad Request","status":400,"detail":"The request has more than one header x-tenant-id.","reason":"key"}` + "\n"},
				// Servers that speak CGI do not tell them apart.
				{Header: []string{"x-tenant-id", "b", "x-tenant_id", "a"}, Status: 400},
				{Header: []string{"x_tenant_id", "c"}, Status: 400},
				{Header: []string{"x-tenant-id", "a,b"}}, // one value
				{Times: 2, Header: []string{"x-tenant-id", "b", "x-tenant-ix", "a"}},
				{Header: []string{"x-tenant-id", "b"}, Status: overLimit},
			},
		},
		{
			Name:     "one credential in several spellings",
			Document: steps(`{"limit":{"rate":"1/1h","per":"header:authorization","missing":"deny-401"}}`),
			Exchanges: []Exchange{
				{Header: []string{"authorization", "Bearer t"}},
				{Header: []string{"authorization", "Bearer t"}, Status: overLimit},
				{Header: []string{"authorization", "bearer  t"}, Status: overLimit},
				{Header: []string{"authorization", "BEARER" + strings.Repeat(" ", 20) + "t"}, Status: overLimit},
				{Header: []string{"authorization", "Bearer\tt"}, Status: overLimit},
				// Envoy joins these lines, and the upstream sees one value.
				{Header: []string{"authorization", "Bearer t", "authorization", "Bearer t"}},
				{Header: []string{"authorization", "bearer  t,Bearer t"}, Status: overLimit},
				{Header: []string{"authorization", "Bearer T"}},
				{Header: []string{"authorization", "Basic t"}},
				{Header: []string{"authorization", "KEY"}},
				{Header: []string{"authorization", "key"}},
				{Status: 401, Want: map[string]string{"x-throttle-reason": "missing"}},
			},
		},
		{
			Name:     "a credential that a condition and proxy.key name",
			Document: `{"version":1,"policies":{"all":{"deny":{"header:authorization":"bearer stolen"},"steps":[{"limit":{"rate":"1/1h","per":"key"}}]}},"routes":[{"path":"/**","policy":"all"}]}`,
			Proxy:    `"key":"header:authorization"`,
			Exchanges: []Exchange{
				{Header: []string{"authorization", "Bearer   stolen"}, Status: 403},
				{Header: []string{"authorization", "Bearer  t"}},
				{Header: []string{"authorization", "bearer t"}, Status: overLimit},
			},
		},
		{
			Name:     "a cost and a key in several lines",
			Document: steps(`{"limit":{"rate":"9/1h","per":"key"}}`),
			Proxy:    `"key":"header:x-user","cost":"header:x-cost"`,
			Exchanges: []Exchange{
				{Header: []string{"x-user", "a", "x-cost", "3", "x-cost", "3"}},
				{Header: []string{"x-user", "a", "x-cost", "1", "x-cost", "9"}, Status: 400, Want: map[string]string{"x-throttle-reason": "key"}},
				{Header: []string{"x-user", "a", "x-user", "b"}, Status: 400},
				{Header: []string{"x-user", "a", "x-cost", "6"}},
				{Header: []string{"x-user", "a"}, Status: overLimit},
				{GRPC: true, Header: []string{"x-user", "a", "x-user", "b"}, Status: 13, Want: map[string]string{"grpc-message": "The request has more than one header x-user."}},
			},
		},
		{
			Name:     "keys by address behind trusted hops",
			Document: steps(`{"limit":{"rate":"1/1h","per":"ip"}}`),
			Proxy:    `"trusted_proxies":["127.0.0.0/8","10.0.0.0/8","2001:db8:ffff::/48"],"ipv4_prefix":24`,
			Exchanges: []Exchange{
				{Header: []string{"x-forwarded-for", "203.0.113.1"}},
				{Header: []string{"x-forwarded-for", "6.6.6.6, 203.0.113.200, 10.1.1.1"}, Status: overLimit},
				{Header: []string{"x-forwarded-for", "203.0.114.1, 2001:db8:ffff::5"}},
				{Header: []string{"x-forwarded-for", "2001:db8:1:2:3::4"}},
				{Header: []string{"x-forwarded-for", "2001:db8:1:2::9, 127.0.0.9"}, Status: overLimit},
				{Header: []string{"x-forwarded-for", "2001:db8:1:3::9"}},
			},
		},
		{
			Name:     "one address of IPv6 that is denied",
			Document: `{"version":1,"policies":{"all":{"deny":{"ip":["2001:db8:1:2::5","2001:db8:1:3:8000::/65"]},"steps":[{"limit":{"rate":"1/1h","per":"ip"}}]}},"routes":[{"path":"/**","policy":"all"}]}`,
			Proxy:    `"trusted_proxies":["127.0.0.0/8"]`,
			Exchanges: []Exchange{
				{Header: []string{"x-forwarded-for", "2001:DB8:1:2::5"}, Status: 403},
				{Header: []string{"x-forwarded-for", "2001:db8:1:2::6"}},
				{Header: []string{"x-forwarded-for", "[2001:db8:1:2::7]:443"}, Status: overLimit},
				{Header: []string{"x-forwarded-for", "2001:db8:1:3:8000::1"}, Status: 403},
				{Header: []string{"x-forwarded-for", "2001:db8:1:3::1"}},
			},
		},
		{
			Name:     "keys by cookie",
			Document: steps(`{"limit":{"rate":"1/1h","per":"cookie:session"}}`),
			Exchanges: []Exchange{
				{Header: []string{"cookie", "session=a; theme=dark"}},
				{Header: []string{"cookie", "theme=light; session=a"}, Status: overLimit},
				{Header: []string{"cookie", "session=b"}},
				{Header: []string{"cookie", "session=a; session=b"}, Status: 400, Want: map[string]string{"x-throttle-reason": "key"},
					Body: `{"type":"about:blank","title":"Bad Request","status":400,"detail":"The request has more than one cookie session.","reason":"key"}` + "\n"},
				{Header: []string{"cookie", "session=c", "cookie", "theme=dark; session=d"}, Status: 400},
				{Header: []string{"cookie", "theme=dark", "cookie", "session=c"}},
				{Header: []string{"cookie", "session=c"}, Status: overLimit},
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
				{Status: 400, Want: map[string]string{"x-throttle-reason": "missing", "retry-after": ""}},
				{Header: []string{"x-a", "1"}},
				{Header: []string{"x-a", "1"}, Status: overLimit, Want: map[string]string{"x-throttle-reason": "rate"}},
				{Header: []string{"x-a", "2", "x-b", "1"}},
				{Header: []string{"x-a", "3", "x-b", "1"}, Status: overLimit, Want: map[string]string{"x-throttle-reason": "rate"}},
				{Header: []string{"x-a", "4"}},
			},
		},
		{
			Name: "calls that a step applies to",
			Document: `{"version":1,"policies":{"all":{"allow":{"header:x-team":"own"},"deny":{"header:x-agent":["scraper"]},"fallback":{"status":503,"body":"later"},` +
				`"steps":[{"limit":{"rate":"1/1h","class":"header:x-plan","rates":{"free":"2/1h"}}},{"limit":{"rate":"1/1h","name":"posts","when":{"method":["POST","PUT"]}}}]}},"routes":[{"path":"/**","policy":"all"}]}`,
			Exchanges: []Exchange{
				{Header: []string{"x-plan", "free"}},
				{Header: []string{"x-plan", "free"}},
				{Header: []string{"x-plan", "free"}, Status: 503, Body: "later", Want: map[string]string{"x-throttle-reason": "rate", "ratelimit-policy": `"limit-free";q=2;w=3600`}},
				{Header: []string{"x-plan", "gold"}, Method: "POST"},
				{Status: 503, Want: map[string]string{"x-throttle-reason": "rate"}},
				{Header: []string{"x-team", "own"}, Method: "POST"},
				{Header: []string{"x-team", "own"}, Method: "POST"},
				{
					Header: []string{"x-team", "own", "x-agent", "scraper"}, Status: 403, Want: map[string]string{"x-throttle-reason": "denied", "retry-after": ""},
					Body: `{"type":"about:blank","title":"Forbidden","status":403,"detail":"The policy of the service denies the request.","reason":"denied","step":"deny"}` + "\n",
				},
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
			Name:     "the key and the cost in attributes of the proxy",
			Document: steps(`{"limit":{"rate":"10/1h","per":"key"}}`),
			Proxy:    `"key":"property:request/headers/x-user","cost":"property:request/headers/x-cost"`,
			Exchanges: []Exchange{
				{Header: []string{"x-user", "a", "x-cost", "9"}},
				{Header: []string{"x-user", "a", "x-cost", "2"}, Status: overLimit},
				{Header: []string{"x-user", "a"}}, // costs 1
				{Header: []string{"x-user", "a"}, Status: overLimit},
				{Header: []string{"x-user", "b"}},
			},
		},
		{
			Name:     "traces on request",
			Document: steps(`{"limit":{"rate":"1/1h"}}`),
			Proxy:    `"trace":"request"`,
			Exchanges: []Exchange{
				{Header: []string{"x-sluice-trace", "1"}, Want: map[string]string{"x-sluice-trace": `policy=all decision=admit limit="free 0/1"`}},
				{Header: []string{"x-sluice-trace", "1"}, Status: overLimit, Want: map[string]string{"x-sluice-trace": `policy=all decision=reject step=limit reason=rate retry-after=3600s limit="free 0/1"`}},
				{Status: overLimit, Want: map[string]string{"x-sluice-trace": ""}},
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
			Name: "policies that take from elsewhere",
			Document: `{"version":1,"defaults":{"limit":{"algorithm":"fixed-window"}},"policies":{"one":{"extends":"two","change":[{"limit":"1/1h"}]},"two":{"steps":[{"limit":"2/1h"}]},
				"none":{"pass":true,"description":"no limits"}},
				"routes":[{"path":"/one","policy":"one"},{"path":"/two","policy":"two"},{"path":"/none","policy":"none"}]}`,
			Exchanges: []Exchange{
				{Path: "/one"},
				{Path: "/one", Status: overLimit, Want: map[string]string{"ratelimit-policy": `"limit";q=1;w=3600`}},
				{Times: 2, Path: "/two"},
				{Path: "/two", Status: overLimit},
				{Times: 3, Path: "/none"},
				{Times: 2, Path: "/none", Answer: 500},
			},
		},
		{
			Name: "routes and methods without a policy",
			Document: `{"version":1,"policies":{"one":{"steps":[{"limit":{"rate":"1/1h"}}]},"pass":{"steps":[{"limit":{"rate":"1/1h"}}]}},
				"routes":[{"path":"/health/**","policy":"pass"},{"path":"/**","method":"OPTIONS","policy":"pass"},{"path":"/**","policy":"one"}],"http":{"default":"deny"}}`,
			Routes: []Route{{"/free", "pass"}},
			Exchanges: []Exchange{
				{Path: "/a"},
				{Path: "/a", Status: overLimit},
				{Times: 3, Path: "/health"},
				{Times: 3, Path: "/x/../health/live", UpstreamPath: "/health/live"},
				{Times: 3, Method: "OPTIONS", Path: "/a"},
				// The route of the proxy says so.
				{Times: 3, Path: "/free"},
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
				{Times: 2, Status: unavailable, Want: map[string]string{"x-throttle-reason": "open", "retry-after": "3600", "ratelimit": "", "x-envoy-ratelimited": ""},
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
			Name: "failed logins",
			Document: `{"version":1,"policies":{"all":{"steps":[{"limit":{"rate":"2/1h","per":"header:x-user","charge":"end","counts":"fail"}}],"outcomes":{"fail":[401]}}},
				"routes":[{"path":"/**","policy":"all"}]}`,
			Exchanges: []Exchange{
				{Times: 5, Header: []string{"x-user", "a"}},
				{Header: []string{"x-user", "a"}, Answer: 401},
				{Times: 3, Header: []string{"x-user", "a"}, Answer: 500},
				{Header: []string{"x-user", "a"}, Answer: 401},
				{Times: 2, Header: []string{"x-user", "a"}, Status: overLimit, Want: map[string]string{"retry-after": "1800"}},
				{Times: 3, Header: []string{"x-user", "b"}},
			},
		},
		{
			Name:     "permits that an answer gives back",
			Document: steps(`{"limit":{"rate":"4/1h","algorithm":"sliding-log","cost":2,"charge":"settle","counts":["ok","ignore"]}}`),
			Exchanges: []Exchange{
				{Times: 3, Answer: 500},
				{}, {Answer: 502}, {Answer: 404},
				{Status: overLimit},
			},
		},
		{
			Name:     "requests and tokens in one policy",
			Document: steps(`{"limit":{"rate":"4/1h","name":"requests"}},{"limit":{"rate":"100/1h","name":"tokens","cost":{"attribute":"header:x-tokens","default":50}}}`),
			Exchanges: []Exchange{
				{Header: []string{"x-tokens", "30"}},
				{}, // 50
				{Header: []string{"x-tokens", "21"}, Status: overLimit, Want: map[string]string{"x-throttle-reason": "rate", "retry-after": "36"}},
				{Header: []string{"x-tokens", "101"}, Status: overLimit, Want: map[string]string{"x-throttle-reason": "capacity", "retry-after": ""}},
				{Times: 2, Header: []string{"x-tokens", "5"}},
				{Header: []string{"x-tokens", "1"}, Status: overLimit, Want: map[string]string{"retry-after": "900"}},
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
