// Package refusals makes what a client gets in place of an answer that a policy refused:
// the status, the document of the problem, and the header fields of limits. All hosts
// that answer over HTTP share it, so that one refusal looks the same everywhere. It
// needs no net/http.
//
// Sources: RFC 9457 (the document), RFC 6585 and RFC 9110 (429, 503, Retry-After),
// draft-ietf-httpapi-ratelimit-headers-10 (RateLimit, RateLimit-Policy and the types of
// problems), RFC 9651 (structured fields).
package refusals
