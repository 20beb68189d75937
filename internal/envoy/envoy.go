package envoy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Workers is the number of threads that serve requests.
const Workers = 4

// patience is how long Envoy may take to start, stop or read a configuration on a machine
// that does other work.
const patience = 60 * time.Second

// Envoy is a running process. All methods may be called at the same time but Push and
// Close.
type Envoy struct {
	dir     string
	admin   string
	address string
	cmd     *exec.Cmd
	log     output
	done    chan struct{} // closed when the process has ended
	client  http.Client
}

// ExitError says that Envoy ended by itself.
type ExitError struct {
	Code int
	Log  string
}

// Error implements error.
func (e *ExitError) Error() string {
	return fmt.Sprintf("envoy ended with exit code %d:\n%s", e.Code, e.Log)
}

// output keeps what a process writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Start starts an Envoy and returns when it serves. An Envoy that refuses its
// configuration is an *ExitError.
func Start(c Config) (*Envoy, error) {
	dir, err := os.MkdirTemp("", "envoy")
	if err != nil {
		return nil, err
	}
	e, err := start(dir, func() (string, error) { return c.write(dir) })
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return e, nil
}

// StartFile starts an Envoy with a bootstrap file, which must have an admin address and a
// listener.
func StartFile(file string) (*Envoy, error) {
	dir, err := os.MkdirTemp("", "envoy")
	if err != nil {
		return nil, err
	}
	e, err := start(dir, func() (string, error) { return file, nil })
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return e, nil
}

func start(dir string, configure func() (file string, err error)) (*Envoy, error) {
	binary, err := Binary()
	if err != nil {
		return nil, err
	}
	file, err := configure()
	if err != nil {
		return nil, err
	}
	adminFile := filepath.Join(dir, "admin")
	e := &Envoy{dir: dir, done: make(chan struct{})}
	e.cmd = exec.Command(binary, "--config-path", file, "--admin-address-path", adminFile, "--concurrency", strconv.Itoa(Workers),
		"--disable-hot-restart", "--drain-time-s", "1", "--drain-strategy", "immediate",
		"--file-flush-interval-msec", "50", "--log-level", "warning", "--component-log-level", "wasm:info")
	e.cmd.Stdout, e.cmd.Stderr = &e.log, &e.log
	e.cmd.SysProcAttr = dependent()
	started := make(chan error)
	go func() {
		// Linux ends a dependent process with the thread that started it.
		runtime.LockOSThread()
		err := e.cmd.Start()
		started <- err
		if err == nil {
			_ = e.cmd.Wait() // its state has the exit code
			close(e.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	if err := e.ready(adminFile); err != nil {
		e.kill()
		return nil, err
	}
	return e, nil
}

// ready waits for the admin address and then for the listener.
func (e *Envoy) ready(adminFile string) error {
	if err := e.until("an admin address", func() (bool, error) {
		text, err := os.ReadFile(adminFile)
		e.admin = strings.TrimSpace(string(text))
		return err == nil && e.admin != "", nil
	}); err != nil {
		return err
	}
	return e.until("a listener", func() (bool, error) {
		if text, err := e.Admin("/ready"); err != nil || strings.TrimSpace(text) != "LIVE" {
			return false, nil
		}
		text, err := e.Admin("/listeners?format=json")
		if err != nil {
			return false, nil
		}
		var list struct {
			Listeners []struct {
				Address struct {
					Socket struct {
						Address string `json:"address"`
						Port    int    `json:"port_value"`
					} `json:"socket_address"`
				} `json:"local_address"`
			} `json:"listener_statuses"`
		}
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			return false, err
		}
		if len(list.Listeners) == 0 || list.Listeners[0].Address.Socket.Port == 0 {
			// Envoy is live although it refused the listener of the file.
			if rejected, err := e.Stat("listener_manager.lds.update_rejected"); err == nil && rejected > 0 {
				return false, fmt.Errorf("%w:\n%s", ErrRejected, e.Log())
			}
			return false, nil
		}
		socket := list.Listeners[0].Address.Socket
		e.address = fmt.Sprintf("%s:%d", socket.Address, socket.Port)
		return true, nil
	})
}

// until asks again and again, every few milliseconds, until the condition holds.
func (e *Envoy) until(what string, holds func() (bool, error)) error {
	deadline := time.Now().Add(patience)
	for {
		ok, err := holds()
		switch {
		case ok || err != nil:
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("envoy has no %s after %s:\n%s", what, patience, e.Log())
		}
		select {
		case <-e.done:
			return &ExitError{Code: e.cmd.ProcessState.ExitCode(), Log: e.Log()}
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Address returns where the listener is: an address and a port.
func (e *Envoy) Address() string { return e.address }

// Log returns what Envoy has logged.
func (e *Envoy) Log() string { return e.log.String() }

// Process returns the id of the process.
func (e *Envoy) Process() int { return e.cmd.Process.Pid }

// Close ends the process and removes its files.
func (e *Envoy) Close() error {
	_ = e.cmd.Process.Signal(os.Interrupt) // fails where it has ended
	select {
	case <-e.done:
	case <-time.After(patience):
		e.kill()
	}
	return os.RemoveAll(e.dir)
}

func (e *Envoy) kill() {
	_ = e.cmd.Process.Kill() // fails where it has ended
	<-e.done
}

// Admin returns the answer of the admin interface to a path.
func (e *Envoy) Admin(path string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+e.admin+path, nil)
	if err != nil {
		return "", err
	}
	resp, err := e.client.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// Stats returns the counters and gauges whose names begin with a prefix, by name.
func (e *Envoy) Stats(prefix string) (map[string]int64, error) {
	text, err := e.Admin("/stats?filter=^" + strings.ReplaceAll(prefix, ".", `\.`))
	if err != nil {
		return nil, err
	}
	stats := map[string]int64{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			stats[name] = n
		}
	}
	return stats, nil
}

// Stat returns a counter or gauge; 0 where there is none.
func (e *Envoy) Stat(name string) (int64, error) {
	stats, err := e.Stats(name)
	return stats[name], err
}

// ErrRejected says that Envoy refused a configuration and serves the one that it had.
var ErrRejected = errors.New("envoy refused the configuration")

// Push replaces the configuration and returns when Envoy has taken it. Connections that
// were open keep the filters of the old listener for up to a second, unless only
// discovered filters changed.
func (e *Envoy) Push(c Config) error {
	before, err := e.updates()
	if err != nil {
		return err
	}
	if _, err := c.write(e.dir); err != nil {
		return err
	}
	var after updates
	err = e.until("answer to a push", func() (bool, error) {
		after, err = e.updates()
		return after != before && after.warming == 0, err
	})
	if err == nil && after.rejected > before.rejected {
		return ErrRejected
	}
	return err
}

// updates count what Envoy did with configurations of listeners and filters.
type updates struct{ taken, rejected, warming int64 }

func (e *Envoy) updates() (u updates, err error) {
	for _, prefix := range []string{"listener_manager", "extension_config_discovery"} {
		stats, err := e.Stats(prefix)
		if err != nil {
			return u, err
		}
		for name, n := range stats {
			switch {
			case name == "listener_manager.lds.update_success" || strings.HasSuffix(name, ".config_reload"):
				u.taken += n
			case name == "listener_manager.lds.update_rejected" || strings.HasSuffix(name, ".config_fail"):
				u.rejected += n
			case name == "listener_manager.total_listeners_warming":
				u.warming += n
			}
		}
	}
	return u, nil
}
