package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestQuoted: a text of the table does not end its literal.
func TestQuoted(t *testing.T) {
	assert.Equal(t, `'a\\b'`, quoted(`a\b`))
	assert.Equal(t, `"a'b"`, quoted(`a'b`))
	assert.Equal(t, `'a\'b"\\'`, quoted(`a'b"\`))
}
