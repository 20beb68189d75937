// Package nethttp guards HTTP clients and servers with Sluice policies.
//
// A Transport is an http.RoundTripper that passes every request through the
// steps of a policy: limits, breakers, retries, bulkheads and timeouts.
//
//	set, err := sluice.Load("policy.yaml")
//	client := &http.Client{Transport: nethttp.NewTransport(nil, set.Pipeline("vendor"))}
//
// A Handler guards an http.Handler in the same way and turns refusals into
// answers of status 429 or 503 that say when to come back.
//
//	http.ListenAndServe(":8080", nethttp.NewRoutedHandler(mux, set))
//
// A reverse proxy sends its requests by a Transport and is wrapped in Transport.Proxy,
// so that the upstream gets the path that was compared, and a slow client can neither
// hold a place nor have a breaker open:
//
//	t := nethttp.NewRoutedTransport(nil, set, nethttp.WithRefusalAnswers())
//	proxy := t.Proxy(&httputil.ReverseProxy{Rewrite: rewrite, Transport: t})
//
// What an answer or an error means is the policy's `outcomes`; what is repeated
// is its `methods`, and whatever carries an Idempotency-Key.
//
// Routes compare the clean form of a path; a handler gets the request with that
// form, so that what is guarded is what is served. A request whose path, or whose
// key, servers read in different ways is refused with a *RequestError, 400.
//
//   - Votes and retries end with an answer's headers, with WithWholeAnswers votes with its
//     body. A bulkhead's place and the attempt's context are held until the answer's body
//     has been read to its end or closed, as it must be anyway. Until then a Transport's
//     timeouts cut the body, too, unless WithHeaderTimeouts is given; timeouts of a Handler
//     and of Transport.Proxy end with the headers. WithIdleTimeout bounds single reads.
//   - When the attempts are used up, the last answer is returned as it is, not
//     an error.
//   - A Handler does not repeat: it passes a retry or hedge step untouched.
//   - A Transport hedges the methods of the hedge step, where the body of the
//     request can be read again by GetBody or there is none. The answers of attempts
//     that lost are closed.
//   - A Handler and a Proxy bound how long a client may take over the body of its
//     request and over an answer, by the section http of the document. Time that the
//     client takes gives no vote. This needs an http.ResponseWriter that has deadlines,
//     as a writer of net/http; a middleware between the two must have the method Unwrap.
//   - A request of gRPC is refused by a status of gRPC, and the status of its answer,
//     in the headers or in trailers that come before a message, decides its outcome as the
//     HTTP status that it stands for.
//   - WithPolicy, WithOverride, WithPolicyOf, WithKey and WithCost say what differs for one
//     request.
//   - FromContext returns which policy and route let a request through, and what is left
//     of each limit, where WithAdmission is given.
//   - WithDeadlineHeader carries deadlines from the request that comes in to those that go
//     out for it, WithCarriedHeaders other fields, as Priority of RFC 9218. Both are off
//     unless told, and a client can only shorten what the policy allows.
//   - A Transport repeats a request whose body can be read again by GetBody or is kept (up
//     to 64 KiB, see WithMaxBody); for any other, Details.NoRetry says why it did not.
//   - No goroutine is started. A panic of what is guarded gives everything back,
//     counts as a failure, and goes on.
package nethttp
