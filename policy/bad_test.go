package policy_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/policy/tree"
)

var rewrite = flag.Bool("rewrite", false, "write the errors of testdata/bad as they are; read the difference")

// TestBadExamples compares all errors of every bad example with the golden ones, and
// checks the example's header: it says whether the schema refuses the example. JSON
// has no comments, so its examples are named here.
func TestBadExamples(t *testing.T) {
	inJSON := map[string]bool{"json-bare.json": true}
	schema := compileSchema(t)
	files, err := filepath.Glob("testdata/bad/*.[jy]*")
	require.NoError(t, err)
	require.Greater(t, len(files), 60)
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			src, err := os.ReadFile(file)
			require.NoError(t, err)
			doc, err := policy.Parse(name, src)
			require.Error(t, err)
			assert.Nil(t, doc)
			golden(t, strings.TrimSuffix(file, filepath.Ext(file))+".txt", err.Error()+"\n")

			expressible := inJSON[name]
			if filepath.Ext(name) == ".yaml" {
				lines := strings.SplitN(string(src), "\n", 3)
				require.True(t, strings.HasPrefix(lines[0], "# ") && strings.HasSuffix(lines[0], "."), "a header says what is wrong")
				require.Contains(t, []string{"# schema: yes", "# schema: no"}, lines[1])
				expressible = lines[1] == "# schema: yes"
			}
			root, whole := policy.ReadTree(name, src)
			if !whole {
				assert.False(t, expressible, "a schema sees only what can be read")
				return
			}
			assert.Equal(t, expressible, schema.Validate(policy.Plain(root)) != nil, "whether the schema refuses it")
		})
	}
}

// golden compares a text with a file, or writes the file.
func golden(t *testing.T, file, text string) {
	t.Helper()
	if *rewrite {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), text)
}

// wide returns a document with so many policies of so many steps.
func wide(policies, steps int) []byte {
	var b bytes.Buffer
	b.WriteString("version: 1\npolicies:\n")
	for i := range policies {
		b.WriteString("  p" + strconv.Itoa(i) + ":\n    steps:\n" + strings.Repeat("      - timeout: 1s\n", steps))
	}
	return b.Bytes()
}

func TestSizes(t *testing.T) {
	doc, err := policy.Parse("p.yaml", wide(document.MaxPolicies, 16))
	require.NoError(t, err)
	assert.Len(t, doc.Policies, document.MaxPolicies)
	_, err = policy.Parse("p.yaml", wide(document.MaxPolicies+1, 1))
	assert.EqualError(t, err, "p.yaml:3:3: policies: found 1001 policies; allowed at most 1000")

	src := wide(1, 1)
	full := append(src, bytes.Repeat([]byte("#"), tree.MaxBytes-len(src))...)
	_, err = policy.Parse("p.yaml", full)
	assert.NoError(t, err)
	_, err = policy.Parse("p.yaml", append(full, '#'))
	assert.EqualError(t, err, "p.yaml: found 1048577 bytes; allowed at most 1048576 bytes (1 MiB)")

	routes := append(src, "routes:\n"...)
	routes = append(routes, strings.Repeat(" - {path: /, policy: p0}\n", document.MaxRoutes+1)...)
	_, err = policy.Parse("p.yaml", routes)
	assert.EqualError(t, err, "p.yaml:7:2: routes: found 10001 routes; allowed at most 10000")
}

func TestUnreadableBytes(t *testing.T) {
	for src, want := range map[string]string{
		"version: 1\nbody: \xff": "p.yaml:2:7: found the byte 0xFF; allowed text in UTF-8",
		"é: \x00":                "p.yaml:1:4: found the character U+0000; allowed text without control characters but tab, line feed and carriage return",
		"a: \x7f":                "p.yaml:1:4: found the character U+007F; allowed text without control characters but tab, line feed and carriage return",
		"\xff\xfea\x00":          "p.yaml:1:1: found the byte 0xFF; allowed text in UTF-8",
		"":                       "p.yaml:1:1: found an empty document; allowed a policy document",
		" \n":                    "p.yaml:1:1: found an empty document; allowed a policy document",
	} {
		_, err := policy.Parse("p.yaml", []byte(src))
		assert.EqualError(t, err, want)
	}
}

func TestErrorsAreBounded(t *testing.T) {
	for name, src := range map[string]string{
		"unknown names": "version: 1\npolicies: {}\n" + strings.Repeat("circuit_breaking_policies: 1\n", 8_000),
		"steps":         "version: 1\npolicies: {a: {steps: [" + strings.Repeat("{retry: 3},", 15_000) + "]}}",
		"routes":        string(wide(900, 1)) + "routes:\n" + strings.Repeat("- {path: /, policy: p00000000}\n", 12_000),
		"tags":          "[" + strings.Repeat("!a b,", 40_000) + "]",
		"long names":    strings.Repeat(strings.Repeat("x", 50_000)+": 1\n", 20),
	} {
		_, err := policy.Parse("p.yaml", []byte(src))
		var all policy.Errors
		require.ErrorAs(t, err, &all, name)
		assert.LessOrEqual(t, len(all), document.MaxErrors+1, name)
		assert.Less(t, len(err.Error()), 1<<20, name)
		if len(all) > document.MaxErrors {
			assert.Contains(t, all[document.MaxErrors].Error(), "more errors", name)
		}
	}
}

// TestNothingRunsAway reads small sources with huge content. The test is that it
// ends.
func TestNothingRunsAway(t *testing.T) {
	bomb := "a: &a0 [x,x,x,x,x,x,x,x]\n"
	for i := range 30 {
		bomb += "b" + strconv.Itoa(i) + ": &a" + strconv.Itoa(i+1) + " [" + strings.Repeat("*a"+strconv.Itoa(i)+",", 8) + "]\n"
	}
	for _, src := range []string{
		bomb,
		"a: &a {b: &b [*a, *b]}\n",
		"&a [*a]",
		strings.Repeat("[", 50_000), strings.Repeat("{\"a\":", 50_000), strings.Repeat("- ", 50_000),
		strings.Repeat("? ", 50_000), strings.Repeat("a: &a\n", 20_000), "\"" + strings.Repeat(`\u0041`, 20_000),
		"[" + strings.Repeat("[],", 50_000) + "]",
	} {
		for _, file := range []string{"p.yaml", "p.json", "-"} {
			_, err := policy.Parse(file, []byte(src))
			assert.Error(t, err)
		}
	}
}
