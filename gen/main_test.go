package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGenerated compares the committed files with those that the rows give.
func TestGenerated(t *testing.T) {
	all, err := files("..")
	require.NoError(t, err)
	for _, f := range all {
		committed, err := os.ReadFile(filepath.Join("..", f.path))
		require.NoError(t, err, "%s: run make generate", f.path)
		assert.True(t, bytes.Equal(f.text, committed), "%s is not what the rows give: run make generate", f.path)
	}
}
