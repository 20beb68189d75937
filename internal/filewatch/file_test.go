package filewatch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReadAgain has a read fail after a look has settled: the next looks read again, and tell
// an error once.
func TestReadAgain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(name, []byte("new"), 0o600))
	f := New(name, []byte("old"))
	_, ok := f.Changed()
	assert.False(t, ok, "the file is as it was when the text was read")
	f.last, f.err = nil, errors.New("too many open files")
	c, ok := f.Changed()
	require.True(t, ok)
	assert.Equal(t, "new", string(c.Text))
	_, ok = f.Changed()
	assert.False(t, ok)

	require.NoError(t, os.Remove(name))
	require.NoError(t, os.Mkdir(name, 0o700))
	told := 0
	for range 5 {
		if c, ok := f.Changed(); ok {
			told++
			assert.Error(t, c.Err)
		}
	}
	assert.Equal(t, 1, told)
}
