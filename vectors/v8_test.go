package vectors

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// program returns the path of the first program that there is, or skips:
// tools/test.sh installs what is missing where it can.
func program(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("none of %s is on PATH", strings.Join(names, ", "))
	return ""
}

// TestNode replays the file on the wasm modules in V8 in Node, and with a bit that
// flips.
func TestNode(t *testing.T) {
	node := program(t, "node")
	for _, module := range []string{"sluice", "core", "core-fast"} {
		for _, args := range [][]string{{"node.mjs"}, {"node.mjs", "0"}, {"node.mjs", "311"}} {
			replay := exec.Command(node, args...)
			replay.Env = append(os.Environ(), "SLUICE_WASM=../wasm/"+module+".wasm")
			out, err := replay.CombinedOutput()
			t.Logf("%s: %s: %s", module, strings.Join(args, " "), out)
			if err != nil {
				t.Errorf("%s: %s: %v", module, args, err)
			}
		}
	}
}

// page replays the file in a browser and sends the server the result.
const page = `<!doctype html><title>vectors</title><script type="module">
const tell = (text) => fetch("/result", { method: "POST", body: text });
try {
	const { decode, Difference, replay } = await import("/replay.mjs");
	const zipped = await fetch("/v1.bin.gz");
	const file = await new Response(zipped.body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
	const suites = decode(new Uint8Array(file));
	const module = await WebAssembly.compileStreaming(fetch("/sluice.wasm"));
	const steps = replay(suites, module);
	let found = false;
	try {
		replay([suites[0]], module, (n, left) => { if (n === 100) left[3] ^= 1; });
	} catch (e) {
		found = e instanceof Difference || e instanceof Error;
	}
	await tell(found ? "ok " + steps + " steps are equal in " + navigator.userAgent : "a bit that flips is not found");
} catch (e) {
	await tell("failed: " + e.stack);
}
</script>`

// TestChromium replays the file on the wasm module in a headless browser.
func TestChromium(t *testing.T) {
	browser := program(t, "chromium", "chromium-browser", "google-chrome")
	module, err := os.ReadFile("../wasm/sluice.wasm")
	if err != nil {
		t.Fatal(err)
	}
	replay, err := os.ReadFile("replay.mjs")
	if err != nil {
		t.Fatal(err)
	}
	result := make(chan string, 1)
	serve := func(kind string, body []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write(body)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", serve("text/html", []byte(page)))
	mux.HandleFunc("/replay.mjs", serve("text/javascript", replay))
	mux.HandleFunc("/sluice.wasm", serve("application/wasm", module))
	mux.HandleFunc("/v1.bin.gz", serve("application/octet-stream", V1()))
	mux.HandleFunc("POST /result", func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		select {
		case result <- string(text):
		default:
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()

	// The browser's children may write on for a moment after it has ended, so
	// that t.TempDir cannot be relied upon to clean up.
	profile, err := os.MkdirTemp("", "sluice-vectors")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(profile)
	log, err := os.Create(filepath.Join(profile, "sluice.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--no-first-run", "--user-data-dir="+profile, server.URL)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case text := <-result:
		t.Log(text)
		if !strings.HasPrefix(text, "ok ") {
			t.Error(text)
		}
	case err := <-ended:
		t.Fatalf("the browser ended: %v; see %s", err, tail(log.Name()))
	case <-time.After(2 * time.Minute):
		t.Errorf("the browser says nothing: %s", tail(log.Name()))
	}
	_ = cmd.Process.Kill()
	<-ended
}

func tail(path string) string {
	text, _ := os.ReadFile(path)
	return string(text[max(0, len(text)-2000):])
}
