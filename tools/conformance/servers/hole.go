package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// patience is how long the hole waits for an answer before it answers 504.
const patience = 1500 * time.Millisecond

// hole is a proxy with the oldest hole of request smuggling (CL.TE): it takes the end
// of a request from Content-Length and sends Transfer-Encoding on beside it, while the
// server behind it takes the end from the chunks. All clients share one connection to
// that server, so that what one client leaves there becomes a part of the next request
// of another. A tool that does not find this hole proves nothing about a proxy without it.
type hole struct {
	to string

	mu      sync.Mutex
	server  net.Conn // nil before the first request and after an error
	answers *bufio.Reader
}

func (h *hole) serve(listener net.Listener) error {
	for {
		client, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer client.Close()
			requests := bufio.NewReader(client)
			for {
				request, err := readByLength(requests)
				if err != nil {
					return
				}
				if _, err := client.Write(h.exchange(request)); err != nil {
					return
				}
			}
		}()
	}
}

// readByLength reads the lines of a request and as many bytes as Content-Length says.
func readByLength(requests *bufio.Reader) ([]byte, error) {
	var all bytes.Buffer
	length := int64(0)
	for {
		line, err := requests.ReadString('\n')
		if err != nil {
			return nil, err
		}
		all.WriteString(line)
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			_, err := io.CopyN(&all, requests, length)
			return all.Bytes(), err
		}
		name, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(name, "Content-Length") {
			// What is not a number counts as 0: this proxy is careless.
			length, _ = strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
	}
}

// exchange sends a request as it is and returns the next answer on the connection.
func (h *hole) exchange(request []byte) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	answer, err := h.try(request)
	if err != nil {
		if h.server != nil {
			h.server.Close()
			h.server = nil
		}
		return []byte("HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n")
	}
	return answer
}

func (h *hole) try(request []byte) ([]byte, error) {
	if h.server == nil {
		server, err := net.Dial("tcp", h.to)
		if err != nil {
			return nil, err
		}
		h.server, h.answers = server, bufio.NewReader(server)
	}
	if err := h.server.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if _, err := h.server.Write(request); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(h.answers, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	if err := resp.Write(&text); err != nil {
		return nil, err
	}
	if resp.Close {
		h.server.Close()
		h.server = nil
	}
	return text.Bytes(), nil
}
