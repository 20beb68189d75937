package sluice_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
)

// A limit for each value of a header that a gateway in front has set. Package
// bindings/nethttp does this by a policy, with more answers.
func ExampleKeyedLimiter_header() {
	limits, err := sluice.NewKeyedLimiter(sluice.LimiterConfig{Count: 2, Period: time.Minute}, sluice.WithClock(&clock.Virtual{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tenant := r.Header.Get("X-Tenant")
		if !limits.Allow(tenant) {
			_, after := limits.Peek(tenant, 1)
			w.Header().Set("Retry-After", strconv.FormatInt(int64((after+time.Second-1)/time.Second), 10))
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	for _, tenant := range []string{"blue", "blue", "blue", "green"} {
		r, w := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
		r.Header.Set("X-Tenant", tenant)
		handler(w, r)
		fmt.Printf("%s %d %q\n", tenant, w.Code, w.Header().Get("Retry-After"))
	}
	// Output:
	// blue 200 ""
	// blue 200 ""
	// blue 429 "30"
	// green 200 ""
}
