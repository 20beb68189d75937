package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// counts are what the upstream has seen.
type counts struct{ Admin, Connections int64 }

// serveUpstream is a service that is healthy unless PUT /control/brown?on=true.
func serveUpstream() error {
	var brown atomic.Bool
	var admin, connections atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /control/brown", func(_ http.ResponseWriter, r *http.Request) {
		brown.Store(r.URL.Query().Get("on") == "true")
	})
	mux.HandleFunc("GET /control/counts", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(counts{admin.Load(), connections.Load()})
	})
	mux.HandleFunc("/honest/", func(w http.ResponseWriter, r *http.Request) {
		if brown.Load() {
			wait(r.Context(), 500*time.Millisecond)
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	mux.HandleFunc("/admin/", func(w http.ResponseWriter, _ *http.Request) {
		admin.Add(1)
		_, _ = io.WriteString(w, "secret\n")
	})
	mux.HandleFunc("/slow/", func(w http.ResponseWriter, r *http.Request) { wait(r.Context(), time.Second) })
	mux.HandleFunc("/long/", func(w http.ResponseWriter, _ *http.Request) {
		for block := make([]byte, 32<<10); ; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/socket/", socket)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "ok\n")
	})
	return answer(&http.Server{
		// Short, so that idle connections are not taken for what is left of an attack.
		Handler: mux, IdleTimeout: 5 * time.Second,
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				connections.Add(1)
			case http.StateClosed, http.StateHijacked:
				connections.Add(-1)
			}
		},
	})
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// socket accepts an upgrade and reads until the connection ends.
func socket(w http.ResponseWriter, _ *http.Request) {
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	_ = rw.Flush()
	_, _ = io.Copy(io.Discard, rw)
}

// servePlain is httputil.ReverseProxy as people write it, with a count of goroutines.
func servePlain(to string) error {
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: to})
	// A line for each hostile client says nothing.
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	return answer(&http.Server{ErrorLog: proxy.ErrorLog, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/control/goroutines" {
			fmt.Fprintf(w, "go_goroutines %d\n", runtime.NumGoroutine())
			return
		}
		proxy.ServeHTTP(w, r)
	})})
}

// answer serves on a free port, which it prints, until standard input ends.
func answer(server *http.Server) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = server.Close()
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// process is a server that this program started.
type process struct {
	cmd     *exec.Cmd
	address string
	admin   string // address and path of go_goroutines and metrics, or empty
	access  string // the file of the access log of sluice serve, or empty
	hold    io.Closer
}

// start runs this program in a role.
func start(role, to string) (*process, error) {
	cmd := exec.Command(os.Args[0], "-role", role, "-to", to)
	cmd.Stderr = os.Stderr
	hold, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, hold: hold}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("%s does not start: %w", role, err)
	}
	p.address = strings.TrimSpace(line)
	return p, nil
}

// stop ends the process and waits for it.
func (p *process) stop() {
	if p.hold != nil {
		_ = p.hold.Close()
	} else {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = p.cmd.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-ended
	}
}

// free is an address that no server has. Another program may take it before it is used,
// and then the proxy does not start.
func free() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// proxy starts a proxy by its name in front of the upstream.
func proxy(o options, dir, name, upstream string) (*process, error) {
	if name == "reverseproxy" {
		p, err := start("plain", upstream)
		if err == nil {
			p.admin = p.address + "/control/goroutines"
		}
		return p, err
	}
	address, err := free()
	if err != nil {
		return nil, err
	}
	p := &process{address: address}
	switch name {
	case "sluice":
		admin, err := free()
		if err != nil {
			return nil, err
		}
		file := filepath.Join(dir, "policy.yaml")
		if err := os.WriteFile(file, policy, 0o600); err != nil {
			return nil, err
		}
		p.admin, p.access = admin+"/metrics", filepath.Join(dir, "access.log")
		p.cmd = exec.Command(o.sluice, "serve", "--policy", file, "--upstream", "http://"+upstream,
			"--listen", address, "--admin", admin, "--drain", "1s", "--log-level", "error", "--access-log", p.access)
	case "nginx":
		file := filepath.Join(dir, "nginx.conf")
		if err := os.WriteFile(file, []byte(nginxConfig(dir, address, upstream)), 0o600); err != nil {
			return nil, err
		}
		p.cmd = exec.Command(o.nginx, "-c", file, "-p", dir, "-e", filepath.Join(dir, "nginx.log"))
	default:
		return nil, fmt.Errorf("the proxy is %q; allowed: sluice, reverseproxy, nginx", name)
	}
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	for range 100 {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return p, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.stop()
	return nil, errors.New("it does not listen")
}

// nginxConfig has the defaults of nginx, but for more connections than Debian allows,
// connections to the upstream that are kept, and upgrades.
func nginxConfig(dir, address, upstream string) string {
	return strings.NewReplacer("DIR", dir, "ADDRESS", address, "UPSTREAM", upstream).Replace(`
daemon off;
worker_processes 2;
pid DIR/nginx.pid;
events { worker_connections 8192; }
http {
  access_log off;
  error_log DIR/nginx.log crit;
  client_body_temp_path DIR/body;
  proxy_temp_path DIR/proxy;
  fastcgi_temp_path DIR/fastcgi;
  uwsgi_temp_path DIR/uwsgi;
  scgi_temp_path DIR/scgi;
  upstream service { server UPSTREAM; keepalive 64; }
  map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
  server {
    listen ADDRESS;
    location / {
      proxy_pass http://service;
      proxy_http_version 1.1;
      proxy_set_header Host $host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
    }
  }
}
`)
}

// usage is what a process and its children have of the system.
type usage struct {
	descriptors int
	memory      int64 // resident, in bytes
	goroutines  int   // 0 where there are none
}

func (p *process) usage() (usage, error) {
	var u usage
	pids := []int{p.cmd.Process.Pid}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pids[0]))
	if err == nil {
		for text := range strings.FieldsSeq(string(children)) {
			if pid, err := strconv.Atoi(text); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	for _, pid := range pids {
		files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		if err != nil {
			return u, err
		}
		u.descriptors += len(files)
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if err != nil {
			return u, err
		}
		pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
		if err != nil {
			return u, err
		}
		u.memory += pages * int64(os.Getpagesize())
	}
	metrics, err := p.metrics()
	u.goroutines = int(metrics["go_goroutines"])
	return u, err
}

var sample = regexp.MustCompile(`(?m)^(\w+(?:\{[^}]*\})?) (\S+)$`)

// metrics are the values of the proxy's metrics by name and labels; none where it has
// no such page.
func (p *process) metrics() (map[string]float64, error) {
	values := map[string]float64{}
	if p.admin == "" {
		return values, nil
	}
	text, err := get("http://" + p.admin)
	for _, m := range sample.FindAllStringSubmatch(string(text), -1) {
		values[m[1]], _ = strconv.ParseFloat(m[2], 64)
	}
	return values, err
}

// control has a connection for each request, so that none is open beside them.
var control = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}

func get(url string) ([]byte, error) {
	resp, err := control.Get(url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// refusalsInside are the times from the head of a request to the end of its answer that
// sluice serve has logged for refusals of honest requests.
func refusalsInside(file string) (times, error) {
	log, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	var all times
	for lines := bufio.NewScanner(log); lines.Scan(); {
		var line struct {
			Peer, Reason string
			Seconds      float64
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, err
		}
		if line.Reason != "" && strings.HasPrefix(line.Peer, "127.0.1.") {
			all = append(all, time.Duration(line.Seconds*float64(time.Second)))
		}
	}
	slices.Sort(all)
	return all, nil
}
