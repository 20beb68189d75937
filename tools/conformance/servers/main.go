// Command servers has the servers that the scripts of tools/conformance put in front of
// a tool or behind a proxy. It prints its address on a line once it listens, and runs
// until it is ended.
//
//	servers origin             HTTP/1.1, and HTTP/2 by prior knowledge, of net/http alone
//	servers hole -to ADDRESS   a proxy with a hole: see hole.go
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "servers:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("usage: servers origin|hole [flags]")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "the address")
	to := flags.String("to", "", "the server behind the hole")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	switch args[0] {
	case "origin":
		return origin().Serve(listener)
	case "hole":
		return (&hole{to: *to}).serve(listener)
	}
	return fmt.Errorf("the role is %q; allowed: origin, hole", args[0])
}

// origin answers GET, HEAD and POST of any path, after it read the body, and other
// methods with 405, as a request does that begins with the rest of another one.
func origin() *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{Protocols: protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet, http.MethodHead, http.MethodPost:
		default:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "ok\n")
	})}
}
