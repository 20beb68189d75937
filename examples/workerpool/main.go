// Workerpool shows many jobs that go through a bulkhead and a limit.
package main

import (
	"context"
	"fmt"
	"log"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
)

func main() {
	pool := sluice.Must(sluice.New(sluice.PolicyOf("jobs",
		sluice.LimiterConfig{Count: 2000, Period: time.Second, Burst: 10, Wait: time.Second, Queue: 200},
		sluice.BulkheadConfig{Concurrent: 4, Queue: 200},
	)))
	var metrics sluice.Metrics
	pool.Listen(metrics.Observe)

	var running, most atomic.Int64
	var wait sync.WaitGroup
	for i := range 100 {
		wait.Go(func() {
			_, err := sluice.Do(context.Background(), pool, func(context.Context) (int, error) {
				now := running.Add(1)
				for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
				}
				defer running.Add(-1)
				return i * i, nil
			})
			if err != nil {
				log.Printf("job %d: %v", i, err)
			}
		})
	}
	wait.Wait()
	fmt.Println("jobs done:", metrics.Snapshot().Calls)
	fmt.Println("never more than four at once:", most.Load() <= 4)
}
