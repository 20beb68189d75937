package mechanismtable_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/internal/mechanismtable"
)

// TestTable compares the table with the rows; go generate ./core/mechanisms writes it.
func TestTable(t *testing.T) {
	root := filepath.Join("..", "..")
	entries, err := mechanismtable.Entries(root)
	require.NoError(t, err)
	assert.Len(t, entries, mechanism.Kinds-1, "a mechanism has one row")
	want, err := mechanismtable.Write(entries)
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(root, mechanismtable.File))
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got))
}
