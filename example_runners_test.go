package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice"
)

// Map calls a function for every item, four at once, under one policy.
func ExampleMap() {
	p := one("limit: {rate: 1000/1s, wait: 10s}")
	squares, err := sluice.Map(context.Background(), p, sluice.MapConfig[int]{Concurrent: 4}, []int{1, 2, 3, 4, 5},
		func(_ context.Context, n int) (int, error) { return n * n, nil })
	fmt.Println(squares, err)
	// Output: [1 4 9 16 25] <nil>
}

// With KeepGoing the items that succeeded have their values.
func ExampleMap_keepGoing() {
	p := one("retry: {attempts: 2, backoff: {constant: 1ms}}")
	c := sluice.MapConfig[string]{KeepGoing: true}
	sizes, err := sluice.Map(context.Background(), p, c, []string{"a", "", "ccc"}, func(_ context.Context, name string) (int, error) {
		if name == "" {
			return 0, errors.New("no name")
		}
		return len(name), nil
	})
	fmt.Println(sizes)
	fmt.Println(err)
	// Output:
	// [1 0 3]
	// sluice: item 1: sluice: p.retry: gave up after 2 attempts (attempts): no name
}

// An executor runs jobs and, at the end of the process, gives them a time to end.
func ExampleExecutor() {
	e, err := sluice.NewExecutor(one("timeout: 1m"), sluice.ExecutorConfig{Concurrent: 2, Queue: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 5 {
		_, err := e.Go(context.Background(), sluice.Request{}, func(context.Context) error {
			if i == 3 {
				return errors.New("no such file")
			}
			return nil
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	task, err := sluice.Submit(context.Background(), e, sluice.Request{}, func(context.Context) (string, error) { return "report", nil })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(task.Wait(context.Background()))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	fmt.Println(e.Shutdown(ctx), e.Counts().Done, e.Counts().Failed)
	// Output:
	// report <nil>
	// <nil> 6 1
}

// A queue hands items to its workers, and makes those who put more wait.
func ExampleQueue() {
	c := sluice.QueueConfig[string]{Workers: 1, Size: 2, Wait: time.Second, OnDone: func(item string, err error) { fmt.Println(item, err) }}
	q, err := sluice.NewQueue(one("timeout: 1m"), c, func(_ context.Context, address string) error {
		if address == "" {
			return errors.New("no address")
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, address := range []string{"ann@example.com", "", "ben@example.com"} {
		if _, err := q.Put(context.Background(), address); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(q.Join(context.Background()))
	// Output:
	// ann@example.com <nil>
	//  no address
	// ben@example.com <nil>
	// <nil>
}
