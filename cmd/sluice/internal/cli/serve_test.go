//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

const served = `
version: 1
policies:
  api: {steps: [{limit: 1/1h}]}
routes:
  - {path: /api/**, policy: api}
`

// toServe returns a folder with a good and a bad document, and a listener whose port is in
// use.
func toServe(t *testing.T) (dir, good, bad string, taken net.Listener) {
	t.Helper()
	dir = t.TempDir()
	good, bad = filepath.Join(dir, "good.yaml"), filepath.Join(dir, "bad.yaml")
	for file, text := range map[string]string{good: served, bad: "version: 1\npolicies:\n  a: {steps: [{limit: {rate: 5}}]}\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	return dir, good, bad, taken
}

func TestServeRefusesBadInput(t *testing.T) {
	dir, good, bad, taken := toServe(t)
	const up = "http://127.0.0.1:1"
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"", 2, "sluice: serve needs --policy FILE"},
		{"-p -", 2, "not standard input"},
		{"-p " + good, 2, "sluice: serve needs --upstream URL"},
		{"-p " + good + " -u ftp://x", 2, `--upstream is "ftp://x"; allowed: an http, https or h2c URL`},
		{"-p " + good + " -u http://", 2, `--upstream is "http://"; allowed`},
		{"-p " + good + " -u http://x?a=b", 2, "without user, query and fragment"},
		{"-p " + good + " -u " + up + " -l 80", 2, `--listen is "80"; allowed: HOST:PORT`},
		{"-p " + good + " -u " + up + " --admin x", 2, `--admin is "x"; allowed: HOST:PORT`},
		{"-p " + good + " -u " + up + " --trusted-proxies 10.0.0.0/8,x", 2, `--trusted-proxies has "x"`},
		{"-p " + good + " -u " + up + " --proxy-protocol 10.0.0.0/8,x", 2, `--proxy-protocol has "x"`},
		{"-p " + good + " -u " + up + " --ipv6-prefix 0", 2, "--ipv6-prefix is 0; allowed: 1 to 128"},
		{"-p " + good + " -u " + up + " --log-level loud", 2, `there is no log level "loud"`},
		{"-p " + good + " -u " + up + " --log-format xml", 2, `there is no log format "xml"`},
		{"-p " + good + " -u " + up + " --drain -1s", 2, "--drain is -1s"},
		{"-p " + good + " -u " + up + " --drain-delay -1s", 2, "--drain-delay is -1s"},
		{"-p " + good + " -u " + up + " --deadline-max 1s", 2, "--deadline-max needs --deadline-header"},
		{"-p " + good + " -u " + up + " --deadline-header X-T --deadline-max -1s", 2, "--deadline-max is -1s; allowed: 0 or more"},
		{"-p " + good + " -u " + up + " --deadline-header X:T", 2, `--deadline-header is "X:T"; allowed: the name of a header field`},
		{"-p " + good + " -u " + up + " --priority-header a/b", 2, `--priority-header is "a/b"; allowed: the name of a header field`},
		{"-p " + good + " -u " + up + " --state-every 1m", 2, "--state-every needs --state FILE"},
		{"-p " + good + " -u " + up + " --state x --state-every 10ms", 2, "--state-every is 10ms; allowed: 1s or more"},
		{"-p " + good + " -u " + up + " --state x --state-max-bytes 5", 2, "--state-max-bytes is 5; allowed: 65536 or more"},
		{"-p " + good + " -u " + up + " --access-sample 0", 2, "--access-sample is 0; allowed: 1 or more"},
		{"-p " + good + " -u " + up + " --access-log " + dir + "/none/log", 3, "no such file"},
		{"-p " + good + " -u " + up + " --tls-cert x", 2, "--tls-cert and --tls-key need each other"},
		{"-p " + good + " -u " + up + " --tls-cert " + good + " --tls-key " + good, 2, "the certificate " + good},
		{"-p " + good + " -u " + up + " --tls-cert x --tls-key y --tls-cert z", 2, "--tls-cert and --tls-key need each other"},
		{"-p " + good + " -u " + up + " --tls-client-ca x", 2, "--tls-client-ca needs --tls-cert or --acme-host"},
		{"-p " + good + " -u " + up + " --tls-client-auth request", 2, "--tls-client-auth needs --tls-client-ca"},
		{"-p " + good + " -u " + up + " --tls-cert x --tls-key y --tls-client-ca z --tls-client-auth maybe", 2,
			`--tls-client-auth is "maybe"; allowed: require, request`},
		{"-p " + good + " -u " + up + " --acme-host a", 2, `--acme-host is "a"; allowed: a name`},
		{"-p " + good + " -u " + up + " --acme-host *.example.com", 2, `--acme-host is "*.example.com"`},
		{"-p " + good + " -u " + up + " --acme-host a.example", 2, "--acme-host needs --acme-cache"},
		{"-p " + good + " -u " + up + " --acme-email a@b.c", 2, "--acme-email needs --acme-host"},
		{"-p " + good + " -u " + up + " --acme-host a.example --acme-cache x --acme-directory http://a", 2,
			`--acme-directory is "http://a"; allowed: an https URL`},
		{"-p " + good + " -u " + up + " --forward-client-cert", 2, "--forward-client-cert needs --tls-client-ca"},
		{"-p " + good + " -u " + up + " --admin-tls-cert x", 2, "--admin-tls-cert and --admin-tls-key need each other"},
		{"-p " + good + " -u " + up + " --admin= --admin-tls-cert x --admin-tls-key y", 2, "--admin-tls-cert needs --admin"},
		{"-p " + good + " -u " + up + " --upstream-key x", 2, "--upstream-cert and --upstream-key need each other"},
		{"-p " + good + " -u " + up + " --upstream-cert " + good + " --upstream-key " + good, 2, "the certificate " + good},
		{"-p " + good + " -u " + up + " --upstream-ca " + good, 2, good + " has no certificate in PEM"},
		{"-p " + good + " -u " + up + " --max-connections -1", 2, "--max-connections is -1; allowed: 0 or more"},
		{"-p " + good + " -u " + up + " --max-streams 0", 2, "--max-streams is 0"},
		{"-p " + good + " -u " + up + " --connect-timeout 0", 2, "--connect-timeout is 0s"},
		{"-p " + good + " -u " + up + " --idle-timeout 0", 2, "--idle-timeout is 0s; allowed: more than 0"},
		{"-p " + good + " -u " + up + " --upstream-idle-timeout -1s", 2, "--upstream-idle-timeout is -1s; allowed: more than 0"},
		{"-p " + good + " -u " + up + " -u " + up, 2, "twice"},
		{"-p " + good + " -u " + up + " -u http://127.0.0.1:2/a", 2, "one path for all"},
		{"-p " + good + " -u " + up + " --eject-after 3", 2, "--eject-after needs more than one --upstream"},
		{"-p " + good + " -u " + up + " --probe-path /x", 2, "--probe-path needs more than one --upstream"},
		{"-p " + good + " -u " + up + " -u http://127.0.0.1:2 --eject-after -1", 2, "--eject-after is -1"},
		{"-p " + good + " -u " + up + " -u http://127.0.0.1:2 --eject-for 0", 2, "--eject-for is 0s"},
		{"-p " + good + " -u " + up + " -u http://127.0.0.1:2 --eject-share 50", 2, `--eject-share is "50"; allowed: 0% to 100%`},
		{"-p " + good + " -u " + up + " -u http://127.0.0.1:2 --eject-share 101%", 2, "--eject-share"},
		{"-p " + good + " -u " + up + " -u http://127.0.0.1:2 --probe-interval 1s", 2, "--probe-interval needs --probe-path"},
		{"-p " + good + " -u " + up + " -u http://127.0.0.1:2 --probe-path x", 2, `--probe-path is "x"; allowed: a path`},
		{"-p " + good + " -u " + up + " -u http://127.0.0.1:2 --probe-path /x --probe-interval 0", 2, "--probe-interval is 0s"},
		{"-p " + good + " -u " + up + " --admin= --admin-token-file " + good, 2, "--admin-token-file needs --admin ADDRESS"},
		{"-p " + good + " -u " + up + " --admin-token-file " + dir + "/none", 2, "the admin tokens " + dir + "/none: no such file"},
		{"-p " + good + " -u " + up + " --alert-on step-full", 2, "--alert-on needs --alert-url URL"},
		{"-p " + good + " -u " + up + " --alert-rate 1/1m", 2, "--alert-rate needs --alert-url URL"},
		{"-p " + good + " -u " + up + " --alert-url ftp://x", 2, "--alert-url has no http or https URL"},
		{"-p " + good + " -u " + up + " --alert-url http://x --alert-on step-ful", 2, `--alert-on has "step-ful"; allowed: breaker-opened`},
		{"-p " + good + " -u " + up + " --alert-url http://x --alert-rate 10", 2, `--alert-rate is "10"; allowed: a rate`},
		{"-p " + dir + "/none -u " + up, 2, "no such file"},
		{"-p " + bad + " -u " + up, 2, "bad.yaml:3:30: policies.a.steps[0].limit.rate: found the number 5"},
		{"-p " + good + " -u " + up + " -l " + taken.Addr().String(), 3,
			"sluice: cannot listen on " + taken.Addr().String() + ": address already in use"},
	} {
		var out, err bytes.Buffer
		code := Run(append([]string{"serve"}, strings.Fields(c.args)...), strings.NewReader(""), &out, &err)
		if code != c.code || !strings.Contains(err.String(), c.want) || strings.Count(err.String(), "\n") != 1 || out.Len() > 0 {
			t.Errorf("%s: code %d, output %q, error %q; want %d, %q", c.args, code, out.String(), err.String(), c.code, c.want)
		}
	}
}

// TestServeCheck has all errors of a configuration at once, and none of a good one, of which
// nothing is begun.
func TestServeCheck(t *testing.T) {
	dir, good, bad, taken := toServe(t)
	for args, want := range map[string][]string{
		"-p " + good + " -u http://127.0.0.1:1 -l 127.0.0.1:0 --admin 127.0.0.1:0": nil,
		"-p " + bad + " -u ftp://x -l " + taken.Addr().String() + " --admin 127.0.0.1:0 --ipv6-prefix 0 --drain -1s --tls-cert " +
			good + " --tls-key " + good + " --admin-token-file " + dir + "/none": {
			"--drain is -1s", `--upstream is "ftp://x"`, "--ipv6-prefix is 0", "bad.yaml:3:30: policies.a.steps[0].limit.rate",
			"the certificate " + good, "the admin tokens " + dir + "/none",
			"cannot listen on " + taken.Addr().String(),
		},
		"-p " + dir + "/none": {"serve needs --upstream URL", "no such file"},
	} {
		var stdout, stderr bytes.Buffer
		code := Run(append([]string{"serve", "--check"}, strings.Fields(args)...), strings.NewReader(""), &stdout, &stderr)
		if wanted := min(2*len(want), 2); code != wanted || stdout.Len() > 0 || strings.Count(stderr.String(), "\n") < len(want) ||
			len(want) == 0 && stderr.Len() > 0 {
			t.Errorf("%s: code %d, output %q, error %q", args, code, stdout.String(), stderr.String())
		}
		for _, text := range want {
			if !strings.Contains(stderr.String(), text) {
				t.Errorf("%s: no %q in\n%s", args, text, stderr.String())
			}
		}
	}
}

// TestVersionJSON has an object with all names.
func TestVersionJSON(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := Run([]string{"version", "--json"}, strings.NewReader(""), &stdout, &stderr); code != 0 || stderr.Len() > 0 {
		t.Fatalf("code %d, error %q", code, stderr.String())
	}
	var version map[string]any
	if err := json.Unmarshal(stdout.Bytes(), &version); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"version", "commit", "time", "modified", "go", "os", "arch"} {
		if _, ok := version[name]; !ok {
			t.Errorf("no %s in %s", name, stdout.String())
		}
	}
	if version["go"] != runtime.Version() || version["version"] == "" {
		t.Error(stdout.String())
	}
}

var address = regexp.MustCompile(`"(listen|admin)":"([^"]+)"`)

// TestServeSignals sends the signals to this process, where serve catches them.
func TestServeSignals(t *testing.T) {
	upstream := httptest.NewServer(http.NotFoundHandler())
	defer upstream.Close()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(served), 0o600); err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	code := make(chan int)
	go func() {
		code <- Run([]string{"serve", "-p", file, "-u", upstream.URL, "-l", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log-format", "json"},
			strings.NewReader(""), io.Discard, w)
		w.Close()
	}()
	lines := bufio.NewScanner(r)
	await := func(text string) string {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return lines.Text()
			}
		}
		t.Fatalf("no line with %q", text)
		return ""
	}
	signal := func(s syscall.Signal) {
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
	}
	proxy := ""
	for _, m := range address.FindAllStringSubmatch(await(`"serving"`), -1) {
		if m[1] == "listen" {
			proxy = "http://" + m[2]
		}
	}
	for _, want := range []int{404, 429} {
		resp, err := http.Get(proxy + "/api/x")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("status %d, want %d", resp.StatusCode, want)
		}
	}
	signal(syscall.SIGHUP)
	await("document is active")
	signal(syscall.SIGTERM)
	await("stopped")
	go func() { _, _ = io.Copy(io.Discard, r) }()
	if got := <-code; got != 0 {
		t.Errorf("exit code %d", got)
	}
}
