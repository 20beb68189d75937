package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// backend is the service: a real HTTP server on loopback with a few workers and
// one queue, first come, first served. Like most services it works on a request
// to the end, whether or not its caller still waits.
type backend struct {
	scenario Scenario
	start    time.Time
	recorder *recorder
	server   *http.Server
	url      string
	jobs     chan *job
	waiting  atomic.Int64
	stop     chan struct{}
	running  sync.WaitGroup
}

// job is a request in the queue.
type job struct {
	call, attempt int
	failed        bool
	done          chan struct{}
}

// startBackend listens on a free port of loopback and serves until close.
func startBackend(s Scenario, start time.Time, r *recorder) (*backend, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the demo's service cannot listen on 127.0.0.1: %w", err)
	}
	b := &backend{
		scenario: s, start: start, recorder: r,
		url:  "http://" + listener.Addr().String(),
		jobs: make(chan *job, s.Queue),
		stop: make(chan struct{}),
	}
	b.server = &http.Server{Handler: b, ReadHeaderTimeout: time.Minute}
	for range s.Workers {
		b.running.Go(b.work)
	}
	b.running.Go(func() {
		// It ends with close; a listener that fails before shows as failed calls.
		_ = b.server.Serve(listener)
	})
	return b, nil
}

// ServeHTTP implements http.Handler.
func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	j := &job{done: make(chan struct{})}
	var err1, err2 error
	j.call, err1 = strconv.Atoi(r.URL.Query().Get("call"))
	j.attempt, err2 = strconv.Atoi(r.URL.Query().Get("attempt"))
	if err := errors.Join(err1, err2); err != nil {
		http.Error(w, "a request needs its call and attempt", http.StatusBadRequest)
		return
	}
	// Counted before it is in the queue, so that the count is never negative.
	b.waiting.Add(1)
	select {
	case b.jobs <- j:
	default:
		b.waiting.Add(-1)
		http.Error(w, "the queue is full", http.StatusServiceUnavailable)
		return
	}
	select {
	case <-j.done:
	case <-b.stop:
		http.Error(w, "the demo is over", http.StatusServiceUnavailable)
		return
	}
	b.recorder.served(r.Context().Err() != nil)
	if j.failed {
		http.Error(w, "something went wrong", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, "{\"call\": %d, \"answer\": \"here you are\"}\n", j.call)
}

// work is one worker.
func (b *backend) work() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for {
		select {
		case <-b.stop:
			return
		case j := <-b.jobs:
			b.waiting.Add(-1)
			takes, fails := b.scenario.Work(j.call, j.attempt, time.Since(b.start))
			timer.Reset(takes)
			select {
			case <-b.stop:
				return
			case <-timer.C:
			}
			j.failed = fails
			close(j.done)
		}
	}
}

// close ends the service and waits until nothing of it runs.
func (b *backend) close() {
	close(b.stop)
	// No request takes long now; connections that stay open are cut.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if b.server.Shutdown(ctx) != nil {
		b.server.Close()
	}
	b.running.Wait()
}
