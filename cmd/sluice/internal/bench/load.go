package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// outcome is what one request got.
type outcome struct {
	at, took time.Duration
	code     int
	reason   string
}

// summary is what a load got.
type summary struct {
	count int
	codes map[int]int
	took  []time.Duration
}

func (s *summary) quantile(q float64) time.Duration {
	if len(s.took) == 0 {
		return 0
	}
	slices.Sort(s.took)
	return s.took[min(len(s.took)-1, int(q*float64(len(s.took))))]
}

// load keeps connections busy for a while, with a pause before each request.
// tell, where it is set, gets every outcome.
func load(address, path string, clients int, span, pause time.Duration, tell func(outcome)) (*summary, error) {
	all := &summary{codes: map[int]int{}}
	var mu sync.Mutex
	var failed error
	var workers sync.WaitGroup
	start := time.Now()
	for range clients {
		workers.Go(func() {
			own, err := client(address, path, start, span, pause, tell)
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
			all.count += own.count
			all.took = append(all.took, own.took...)
			for code, n := range own.codes {
				all.codes[code] += n
			}
		})
	}
	workers.Wait()
	return all, failed
}

// client sends one request after the other on one connection, without the cost
// of http.Client.
func client(address, path string, start time.Time, span, pause time.Duration, tell func(outcome)) (*summary, error) {
	s := &summary{codes: map[int]int{}}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return s, err
	}
	defer conn.Close()
	request := []byte("GET " + path + " HTTP/1.1\r\nHost: bench\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n")
	r := bufio.NewReader(conn)
	for {
		time.Sleep(pause)
		began := time.Now()
		if began.Sub(start) >= span {
			return s, nil
		}
		if _, err := conn.Write(request); err != nil {
			return s, err
		}
		code, reason, err := response(r)
		if err != nil {
			return s, fmt.Errorf("after %d requests: %w", s.count, err)
		}
		took := time.Since(began)
		s.count++
		s.codes[code]++
		s.took = append(s.took, took)
		if tell != nil {
			tell(outcome{began.Sub(start), took, code, reason})
		}
	}
}

// response reads an answer that has a Content-Length.
func response(r *bufio.Reader) (code int, reason string, err error) {
	length := 0
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return 0, "", err
		}
		text := strings.TrimRight(string(line), "\r\n")
		name, value, _ := strings.Cut(text, ": ")
		switch {
		case first && len(text) > 12:
			code, err = strconv.Atoi(text[9:12])
		case text == "":
			_, err = r.Discard(length)
			return code, reason, err
		case strings.EqualFold(name, "Content-Length"):
			length, err = strconv.Atoi(value)
		case strings.EqualFold(name, "X-Throttle-Reason"):
			reason = value
		}
		if err != nil {
			return 0, "", err
		}
	}
}

// cpu is the time that a process has used, of Linux; 0 elsewhere.
func cpu(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name of the process may have blanks; what follows it has not.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	const tick = 10 * time.Millisecond // USER_HZ is 100 on all of Linux
	return time.Duration(user+system) * tick
}

var goroutineLine = regexp.MustCompile(`(?m)^(go_goroutines|sluice_http_requests_in_flight) (\S+)$`)

// gauges reads the two gauges that matter here.
func gauges(ctx context.Context, admin string) (goroutines, inFlight float64, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/metrics", nil)
	if err != nil {
		return 0, 0, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	for _, m := range goroutineLine.FindAllStringSubmatch(string(text), -1) {
		value, _ := strconv.ParseFloat(m[2], 64)
		if m[1] == "go_goroutines" {
			goroutines = value
		} else {
			inFlight = value
		}
	}
	return goroutines, inFlight, err
}
