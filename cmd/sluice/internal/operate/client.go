package operate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// answerTime bounds a request that is not a stream.
const answerTime = 10 * time.Second

// mostAnswer is how many bytes of an answer are read.
const mostAnswer = 64 << 20

// Client asks the admin address of a sluice serve.
type Client struct {
	// Address as in http://127.0.0.1:8081.
	Address string
	Token   string
	// Author is the person who makes changes; empty for none.
	Author string
	HTTP   *http.Client // nil for http.DefaultClient
}

// StatusError is an answer that says why something cannot be done.
type StatusError struct {
	Status int
	Text   string
}

// Error implements error.
func (e *StatusError) Error() string { return e.Text }

// Steps returns the steps of all policies.
func (c *Client) Steps(ctx context.Context) (list []Step, err error) {
	return list, c.get(ctx, "steps", &list)
}

// Breakers returns the breakers by mode and time of change.
func (c *Client) Breakers(ctx context.Context) (list []Breaker, err error) {
	return list, c.get(ctx, "breakers", &list)
}

// Step returns a step, or a key of it.
func (c *Client) Step(ctx context.Context, policy, step string, key []string) (s Step, err error) {
	path := stepPath(policy, step)
	if len(key) > 0 {
		path += "?" + url.Values{"key": key}.Encode()
	}
	return s, c.get(ctx, path, &s)
}

// Blocked returns the keys of a step that are blocked.
func (c *Client) Blocked(ctx context.Context, policy, step string) (list []BlockedKey, err error) {
	return list, c.get(ctx, stepPath(policy, step)+"/blocked", &list)
}

// Events returns the last n events.
func (c *Client) Events(ctx context.Context, n int) (list []Event, err error) {
	return list, c.get(ctx, fmt.Sprintf("events?n=%d", n), &list)
}

// Change changes a step.
func (c *Client) Change(ctx context.Context, policy, step, action string, change Change) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	resp, err := c.send(ctx, http.MethodPost, stepPath(policy, step)+"/"+url.PathEscape(action), body)
	if err == nil {
		err = resp.Body.Close()
	}
	return err
}

// Tail calls f with the last events and those to come, until the context ends, the server
// ends, or f returns an error.
func (c *Client) Tail(ctx context.Context, requests bool, f func(Event) error) error {
	path := "events/stream"
	if requests {
		path += "?requests=true"
	}
	resp, err := c.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		text, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		var e Event
		if err := json.Unmarshal(text, &e); err != nil {
			return fmt.Errorf("an event that cannot be read: %w", err)
		}
		if err := f(e); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return errors.New("the server ended the stream")
}

func stepPath(policy, step string) string {
	return "steps/" + url.PathEscape(policy) + "/" + url.PathEscape(step)
}

func (c *Client) get(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	resp, err := c.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(io.LimitReader(resp.Body, mostAnswer)).Decode(into); err != nil {
		return fmt.Errorf("an answer that cannot be read: %w", err)
	}
	return nil
}

// send returns an answer of success, whose body the caller closes.
func (c *Client) send(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.Address, "/")+Root+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Author != "" {
		req.Header.Set(AuthorHeader, c.Author)
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	var f Failure
	if json.NewDecoder(io.LimitReader(resp.Body, MostBody)).Decode(&f) != nil || f.Error == "" {
		f.Error = "the admin address answered " + resp.Status
		if resp.StatusCode == http.StatusNotFound {
			f.Error += "; it has no " + Root + ": sluice serve needs --admin-token-file"
		}
	}
	// The command writes the name of the project in front of every error.
	return nil, &StatusError{resp.StatusCode, strings.TrimPrefix(f.Error, "sluice: ")}
}
