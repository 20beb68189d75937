// Command servers has the servers that the scripts of tools/conformance put in front of
// a tool or behind a proxy. It prints its address on a line once it listens, and runs
// until it is ended.
//
//	servers origin             HTTP/1.1, and HTTP/2 by prior knowledge, of net/http alone
//	servers hole -kind NAME    a proxy with a hole, and the server behind it: see hole.go
//	servers keys -to ADDRESS   no server: sends -n requests, each with another X-Key
//	servers plain -to ADDRESS  httputil.ReverseProxy, with as many idle connections and
//	                           the pool of buffers that sluice serve has
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "servers:", err)
		os.Exit(1)
	}
}

// patience is how long a hole waits for an answer: longer than the second by which
// smugglex tells a delay.
const patience = 1500 * time.Millisecond

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("usage: servers origin|hole|keys|plain [flags]")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "the address")
	to := flags.String("to", "", "the server behind a proxy")
	kind := flags.String("kind", "cl-te", "which hole")
	n := flags.Int("n", 100_000, "how many keys")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if args[0] == "keys" {
		return sendKeys(*to, *n)
	}
	serve, err := dig(*kind, patience)
	if err != nil {
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
		return serve(listener)
	case "plain":
		return plain(*to).Serve(listener)
	}
	return fmt.Errorf("the role is %q; allowed: origin, hole, keys, plain", args[0])
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

func plain(to string) *http.Server {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, 4096
	transport.DisableCompression = true
	target := &url.URL{Scheme: "http", Host: to}
	return &http.Server{Handler: &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(target)
			p.SetXForwarded()
		},
		Transport: transport, BufferPool: &buffers{},
	}}
}

// buffers is a pool that allocates nothing to put a buffer back.
type buffers struct{ pool sync.Pool }

const bufferSize = 32 << 10

func (b *buffers) Get() []byte {
	if one, ok := b.pool.Get().(*[bufferSize]byte); ok {
		return one[:]
	}
	return make([]byte, bufferSize)
}

func (b *buffers) Put(one []byte) { b.pool.Put((*[bufferSize]byte)(one)) }
