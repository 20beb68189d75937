package main

import (
	"fmt"
	"io"
	"net/http"
	"sync"
)

// senders are the connections over which requests with keys go.
const senders = 16

// sendKeys sends n requests, each with a key of its own of 32 bytes, as long as many API
// keys. It is an error when one is not answered with 200.
func sendKeys(to string, n int) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: senders}}
	failed := make(chan error, senders)
	var all sync.WaitGroup
	for first := range senders {
		all.Go(func() {
			for i := first; i < n; i += senders {
				if err := sendKey(client, to, i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(failed)
	return <-failed
}

func sendKey(client *http.Client, to string, i int) error {
	request, err := http.NewRequest(http.MethodGet, "http://"+to+"/", nil)
	if err != nil {
		return err
	}
	request.Header.Set("X-Key", fmt.Sprintf("key-%028d", i))
	resp, err := client.Do(request)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("key %d: status %d", i, resp.StatusCode)
	}
	return nil
}
