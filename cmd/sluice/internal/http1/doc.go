// Package http1 sends requests over HTTP/1.1 and reads their answers on the goroutine of
// the caller. The Transport of net/http has two goroutines for each connection, and passes
// every request and answer between three: to a proxy that costs a third of its processor
// time.
//
// It takes requests without a body that ask for nothing unusual; an http.Transport takes
// all others. net/http parses the answers, so that both agree on where an
// answer ends and which answers are refused. A connection is used again only if an answer
// was read to its end, nothing follows it, and none of the two sides closes it; before that, it
// is looked at for bytes that no request has asked for.
package http1
