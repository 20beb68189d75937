package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGenerated compares the committed file with the one that the rows give.
func TestGenerated(t *testing.T) {
	text, err := script()
	require.NoError(t, err)
	committed, err := os.ReadFile(filepath.Join("../../..", scriptPath))
	require.NoError(t, err)
	assert.Equal(t, string(text), string(committed), "%s is not up to date: run make generate", scriptPath)
}

// TestQuoted: a text of the table does not end its literal.
func TestQuoted(t *testing.T) {
	assert.Equal(t, `'a\'b\\'`, quoted(`a'b\`))
}
