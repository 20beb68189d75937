package sluice_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-go/sluice"
)

// A wrapped function has the signature that it had before.
func ExampleWrap1() {
	fetch := func(_ context.Context, id int) (string, error) { return fmt.Sprint("order ", id), nil }
	fetch = sluice.Wrap1(one("limit: 2/1h"), fetch)
	for id := range 3 {
		order, err := fetch(context.Background(), id)
		fmt.Println(order, errors.Is(err, sluice.ErrRejected))
	}
	// Output:
	// order 0 false
	// order 1 false
	//  true
}

// The arguments of a wrapped function name the key and the cost of its calls.
func ExampleWrapWith2() {
	send := func(_ context.Context, tenant string, batch []string) (int, error) { return len(batch), nil }
	send = sluice.WrapWith2(one("limit: {rate: 3/1h, per: key}"), func(tenant string, batch []string) sluice.Request {
		return sluice.Request{Key: tenant, Cost: uint32(len(batch))}
	}, send)
	for _, tenant := range []string{"ann", "ann", "ben"} {
		n, err := send(context.Background(), tenant, []string{"a", "b"})
		fmt.Println(tenant, n, err == nil)
	}
	// Output:
	// ann 2 true
	// ann 0 false
	// ben 2 true
}
