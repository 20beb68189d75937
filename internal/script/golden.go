package script

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// goldens are the encoded states of a folder. What a released version wrote
// must be read by every later one, so a file is never written again.
type goldens struct {
	folder string
	used   map[string]bool
}

func (g *goldens) path(name string) string { return filepath.Join(g.folder, name+".hex") }

// unused fails for a file that no script names.
func (g *goldens) unused(t *testing.T) {
	paths, _ := filepath.Glob(g.path("*"))
	for _, path := range paths {
		if !g.used[path] {
			t.Errorf("%s: no script names it", path)
		}
	}
}

// check compares the state with the golden file, and decodes damaged copies of it.
func check[S any](t *testing.T, g *goldens, name string, cell reducer.Values[S], s S, now clock.Mark) string {
	t.Helper()
	encoded := cell.AppendState(nil, s)
	path := g.path(name)
	g.used[path] = true
	golden, err := ReadGolden(path)
	if errors.Is(err, os.ErrNotExist) && rewrites() {
		golden, err = encoded, writeGolden(path, encoded)
	}
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := cell.DecodeState(golden)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if err := cell.Check(decoded); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if !bytes.Equal(golden, encoded) {
		t.Fatalf("%s: the script's state is encoded otherwise:\n%s", path, hexLines(encoded))
	}
	want, got := cell.AppendText(nil, s, now), cell.AppendText(nil, decoded, now)
	if !bytes.Equal(want, got) {
		t.Fatalf("%s: decoded as %q, want %q", path, got, want)
	}
	damage(t, path, cell, golden)
	return fmt.Sprintf("%d bytes\n", len(golden))
}

// maxFlips is about how many bits of a golden state are flipped. Of a longer one
// not all are; the fuzz targets do the rest.
const maxFlips = 20_000

// damage decodes the golden bytes cut short at every length, with bytes left
// over, and with every bit flipped. There is an error that wraps
// reducer.ErrEncoding, or a state that holds up.
func damage[S any](t *testing.T, path string, cell reducer.Values[S], golden []byte) {
	t.Helper()
	for n := range golden {
		if _, err := cell.DecodeState(golden[:n]); !errors.Is(err, reducer.ErrEncoding) {
			t.Fatalf("%s: cut at %d: %v", path, n, err)
		}
	}
	for _, more := range []byte{0, 0xff} {
		if _, err := cell.DecodeState(append(bytes.Clone(golden), more)); !errors.Is(err, reducer.ErrEncoding) {
			t.Fatalf("%s: a byte left over: %v", path, err)
		}
	}
	step := 1 + 8*len(golden)/maxFlips
	for n := 0; n < 8*len(golden); n += step {
		flipped := bytes.Clone(golden)
		flipped[n/8] ^= 1 << (n % 8)
		if err := Decodes(cell.Cell, flipped); err != nil {
			t.Fatalf("%s: bit %d of byte %d flipped: %v", path, n%8, n/8, err)
		}
	}
}

// Decodes returns an error when the decoder neither refuses the bytes with
// reducer.ErrEncoding nor gives a state that passes Check, has these bytes as its
// encoding and works.
func Decodes[S any](machine reducer.Cell[S], src []byte) error {
	cell := reducer.ValuesOf(machine)
	s, err := cell.DecodeState(src)
	if err != nil {
		if !errors.Is(err, reducer.ErrEncoding) {
			return fmt.Errorf("does not wrap ErrEncoding: %w", err)
		}
		return nil
	}
	if err := cell.Check(s); err != nil {
		return fmt.Errorf("decoded, and Check says: %w", err)
	}
	if again := cell.AppendState(nil, s); !bytes.Equal(src, again) {
		return fmt.Errorf("decoded, and encoded otherwise: %x, was %x", again, src)
	}
	return works(cell, s)
}

// works returns an error when a state does not pass Check any more while all that
// waits in it is served or ends, and after a reset.
func works[S any](cell reducer.Values[S], s S) error {
	var now clock.Mark
	var out reducer.Out
	for range serveLimit {
		at, ok := cell.NextWake(s)
		if !ok {
			break
		}
		now = at
		pass(cell, &s, now, &out)
		if err := cell.Check(s); err != nil {
			return fmt.Errorf("decoded, and at %v Check says: %w", now, err)
		}
	}
	cell.Step(&s, reducer.Action{Kind: reducer.Reset}, now, &out)
	if err := cell.Check(s); err != nil {
		return fmt.Errorf("decoded and reset, Check says: %w", err)
	}
	return nil
}

// ReadGolden reads a file of hexadecimal lines.
func ReadGolden(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
}

func writeGolden(path string, encoded []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(hexLines(encoded)), 0o644)
}

// hexLines writes 32 bytes a line.
func hexLines(b []byte) string {
	var text strings.Builder
	for len(b) > 0 {
		n := min(32, len(b))
		fmt.Fprintf(&text, "%x\n", b[:n])
		b = b[n:]
	}
	return text.String()
}

// rewrites reports whether datadriven's -rewrite is set.
func rewrites() bool {
	f := flag.Lookup("rewrite")
	return f != nil && f.Value.String() == "true"
}
