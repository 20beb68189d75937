package envoy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Load is what clients send over connections that they keep: one request after another,
// each as soon as the one before it is answered.
type Load struct {
	Address     string
	Connections int
	// Path is the path of all requests; empty for /.
	Path string
	// Header are lines of "Name: value".
	Header []string
	// Requests is the number of them over all connections; 0 for as many as Duration allows.
	Requests int64
	Duration time.Duration
	// Pause is between an answer and the next request of a connection.
	Pause time.Duration
	// Stop ends the load earlier; nil for never.
	Stop <-chan struct{}
}

// Result counts answers.
type Result struct {
	Statuses map[int]int64
	// Elapsed is from before the first request until after the last answer.
	Elapsed time.Duration
	// Lost are the connections that ended in the middle of a request.
	Lost int64
}

// Total returns the number of answers.
func (r *Result) Total() int64 {
	var n int64
	for _, count := range r.Statuses {
		n += count
	}
	return n
}

// Run sends the load and returns when it is answered. A connection that Envoy closed is
// made anew.
func (l *Load) Run() (Result, error) {
	path := l.Path
	if path == "" {
		path = "/"
	}
	request := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: test\r\n%s\r\n", path, strings.Join(append(l.Header, ""), "\r\n"))
	var (
		left, lost atomic.Int64
		mu         sync.Mutex
		group      sync.WaitGroup
		failures   []error
	)
	left.Store(l.Requests)
	result := Result{Statuses: map[int]int64{}}
	begin := time.Now()
	more := func() bool {
		select {
		case <-l.Stop:
			return false
		default:
		}
		if l.Requests > 0 {
			return left.Add(-1) >= 0
		}
		return time.Since(begin) < l.Duration
	}
	for range l.Connections {
		group.Go(func() {
			statuses, err := l.connection(request, more, &lost)
			mu.Lock()
			defer mu.Unlock()
			for status, n := range statuses {
				result.Statuses[status] += n
			}
			if err != nil {
				failures = append(failures, err)
			}
		})
	}
	group.Wait()
	result.Elapsed, result.Lost = time.Since(begin), lost.Load()
	return result, errors.Join(failures...)
}

// connection sends requests over a connection at a time.
func (l *Load) connection(request string, more func() bool, lost *atomic.Int64) (map[int]int64, error) {
	statuses := map[int]int64{}
	for {
		conn, err := net.DialTimeout("tcp", l.Address, patience)
		if err != nil {
			return statuses, err
		}
		open, err := l.exchange(conn, request, more, statuses)
		if !open {
			return statuses, err
		}
		if err != nil {
			lost.Add(1)
		}
	}
}

// exchange sends requests over one connection, and reports whether there are more when
// the connection has ended.
func (l *Load) exchange(conn net.Conn, request string, more func() bool, statuses map[int]int64) (open bool, err error) {
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for more() {
		if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
			return false, err
		}
		if _, err := io.WriteString(conn, request); err != nil {
			return true, err
		}
		resp, err := http.ReadResponse(reader, nil)
		if err != nil {
			return true, err
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return true, err
		}
		statuses[resp.StatusCode]++
		if resp.Close {
			return true, nil
		}
		if l.Pause > 0 {
			time.Sleep(l.Pause)
		}
	}
	return false, nil
}
