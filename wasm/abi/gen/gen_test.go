package main

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/wasm/abi"
)

// TestGenerated compares the committed files with those that the sources give.
func TestGenerated(t *testing.T) {
	const root = "../../.."
	all, err := files(root)
	require.NoError(t, err)
	for _, f := range all {
		committed, err := os.ReadFile(filepath.Join(root, f.path))
		require.NoError(t, err)
		assert.Equal(t, string(f.text), string(committed), "%s is not up to date: run make generate", f.path)
	}
}

// TestPage: a page without its markers is not overwritten.
func TestPage(t *testing.T) {
	const opens, closes = "<!-- numbers: go generate ./wasm/abi -->\n", "<!-- end of numbers -->\n"
	sections := []section{{"numbers", numbersTable}}
	for _, page := range []string{"", opens, closes} {
		_, err := pageWith([]byte(page), "ABI.md", sections)
		assert.Error(t, err)
	}
	page, err := pageWith([]byte("a\n"+opens+"old\n"+closes+"z\n"), "ABI.md", sections)
	require.NoError(t, err)
	assert.Regexp(t, "(?s)^a\n.*\\| outcomes \\| 1 ok, 2 fail, 3 throttle, .*z\n$", string(page))
	assert.NotContains(t, string(page), "old")
}

// TestEveryTypeIsCoded: the page names the bytes of every setting.
func TestEveryTypeIsCoded(t *testing.T) {
	assert.NotContains(t, planTables(), "| |\n")
	assert.NotContains(t, planTables(), "|  |")
}

// TestEverythingHasAText: no field and no code comes without its text, and no text is of
// something that there is not.
func TestEverythingHasAText(t *testing.T) {
	for name, table := range map[string]string{"slots": slotsTable(), "decisions": decisionTable(), "others": otherTable(), "errors": errorsTable()} {
		assert.NotContains(t, table, "|  |", name)
	}
	for _, c := range []struct {
		of    reflect.Type
		texts map[string]string
	}{{reflect.TypeFor[abi.Slots](), slotTexts}, {reflect.TypeFor[abi.Decision](), decisionTexts}, {reflect.TypeFor[abi.Other](), otherTexts}} {
		for name := range c.texts {
			_, ok := c.of.FieldByName(name)
			assert.True(t, ok, "%s has no field %s", c.of, name)
		}
	}
}
