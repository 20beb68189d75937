package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// TestWaitsTakeNoTime tests a program that waits, in the virtual time of
// testing/synctest: the real runner with its real sleeps, which take no real time.
func TestWaitsTakeNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, err := sluice.Parse("policy.yaml", []byte(document))
		if err != nil {
			t.Fatal(err)
		}
		vendor := set.Pipeline("vendor")
		down := errors.New("down")
		attempts := 0
		call := func() error {
			_, err := sluice.Do(t.Context(), vendor, func(context.Context) (int, error) {
				attempts++
				return 0, down
			})
			return err
		}

		began := time.Now()
		var gaveUp *sluice.RetryError
		if err := call(); !errors.As(err, &gaveUp) || !errors.Is(err, down) || attempts != 3 {
			t.Errorf("after %d attempts: %v", attempts, err)
		}
		if took := time.Since(began); took != 2*time.Minute {
			t.Errorf("two backoffs of 1m, which is their default maximum, took %s", took)
		}

		// Three failures in a row: the breaker is open for half an hour.
		var refused *sluice.RejectedError
		if err := call(); !errors.As(err, &refused) || refused.Step != "breaker" || refused.RetryAfter != 30*time.Minute {
			t.Errorf("an open breaker: %v", err)
		}
		time.Sleep(refused.RetryAfter)
		if err := call(); errors.Is(err, sluice.ErrRejected) || attempts != 4 {
			t.Errorf("the probe, after %d attempts: %v", attempts, err)
		}
	})
}
