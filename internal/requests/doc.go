// Package requests reads the attributes of an HTTP request by which a step may count:
// cookies, parameters of the query, and addresses of clients. All hosts that see requests
// share it, so that one request has one key everywhere. It needs no net/http.
package requests
