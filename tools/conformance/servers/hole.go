package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"strconv"
	"strings"
)

// hole is a proxy with the oldest hole of request smuggling (CL.TE): it takes the end
// of a request from Content-Length, sends Transfer-Encoding on beside it, and keeps one
// connection to the server behind it, which takes the end from the chunks. A tool that
// does not find this hole proves nothing about a proxy without it.
func hole(listener net.Listener, to string) error {
	for {
		client, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer client.Close()
			server, err := net.Dial("tcp", to)
			if err != nil {
				return
			}
			defer server.Close()
			go func() {
				_, _ = io.Copy(client, server)
				_ = client.Close()
			}()
			requests := bufio.NewReader(client)
			for passOn(server, requests) == nil {
			}
		}()
	}
}

// passOn sends one request on: its lines as they are, and as many bytes as
// Content-Length says.
func passOn(server io.Writer, requests *bufio.Reader) error {
	var head bytes.Buffer
	length := int64(0)
	for {
		line, err := requests.ReadString('\n')
		if err != nil {
			return err
		}
		head.WriteString(line)
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			break
		}
		name, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(name, "Content-Length") {
			// What is no number counts as 0: this proxy is careless.
			length, _ = strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
	}
	if _, err := server.Write(head.Bytes()); err != nil {
		return err
	}
	_, err := io.CopyN(server, requests, length)
	return err
}
