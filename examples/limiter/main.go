// Limiter shows a rate limiter alone.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/sluice-go/sluice"
)

func main() {
	// 50 permits a second, three at once.
	l, err := sluice.NewLimiter(sluice.LimiterConfig{Count: 50, Period: time.Second, Burst: 3, Wait: 100 * time.Millisecond, Queue: 8})
	if err != nil {
		log.Fatal(err)
	}
	var allowed [4]bool
	for i := range allowed {
		allowed[i] = l.Allow()
	}
	fmt.Println("four calls at once, allowed:", allowed)
	if err := l.Wait(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println("waited for a permit")

	// A cost above the burst is refused for good, with a reason.
	var refused *sluice.RejectedError
	if err := l.WaitN(context.Background(), 9); errors.As(err, &refused) {
		fmt.Println("nine at once:", refused.Reason)
	}

	// A reservation is permits taken ahead of their use.
	r, err := l.Reserve(3, time.Second)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("three more soon:", r.Delay() < time.Second)
	r.Cancel()
}
