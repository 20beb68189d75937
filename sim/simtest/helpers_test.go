package simtest_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the messages of failures")

// fake is a testing.TB that keeps the message of a failure.
type fake struct {
	testing.TB
	dir     string
	message string
}

func (f *fake) Helper()             {}
func (f *fake) Name() string        { return "TestFake" }
func (f *fake) ArtifactDir() string { return f.dir }

func (f *fake) Fatal(args ...any) {
	f.message = fmt.Sprint(args...)
	runtime.Goexit()
}

func (f *fake) Fatalf(format string, args ...any) { f.Fatal(fmt.Sprintf(format, args...)) }

// failure returns the message with which a test fails, empty where it passes. The
// directory of its report is DIR in it.
func failure(t *testing.T, test func(t testing.TB)) (message, dir string) {
	t.Helper()
	f := &fake{TB: t, dir: t.TempDir()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(f)
	}()
	<-done
	return strings.ReplaceAll(f.message, f.dir, "DIR"), f.dir
}

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *rewrite {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), text, file)
}
