package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestLogFile moves a file away, as a program that rotates logs does.
func TestLogFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "access.log")
	l, err := openLog(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		fmt.Fprintln(l, i)
		if i == 1 {
			if err := os.Rename(name, name+".1"); err != nil {
				t.Fatal(err)
			}
			if err := l.Reopen(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	for file, want := range map[string]string{name: "2\n", name + ".1": "0\n1\n"} {
		if got := read(t, file); got != want {
			t.Errorf("%s has %q, want %q", file, got, want)
		}
	}
	var out bytes.Buffer
	l, err = openLog("-", &out)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(l, "line")
	if l.Reopen() != nil || l.Close() != nil || out.String() != "line" {
		t.Errorf("standard output has %q", out.String())
	}
}
