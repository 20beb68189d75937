//go:build !race

package apitest_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sluice-go/sluice/policy"
)

var (
	setting = regexp.MustCompile("`([^`]+)`")
	step    = regexp.MustCompile(`^(?:adaptive|breaker|bulkhead|chaos|hedge|limit|retry|timeout): `)
)

// TestMigrating reads the settings that the tables of docs/migrating.md have in the column
// of Sluice: whole steps, and parts of a breaker and of a retry.
func TestMigrating(t *testing.T) {
	found := 0
	for line := range strings.Lines(read(t, "docs/migrating.md")) {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) < 3 {
			continue
		}
		for _, span := range setting.FindAllStringSubmatch(cells[1], -1) {
			body := span[1]
			switch {
			case step.MatchString(body):
			case strings.HasPrefix(body, "{window"):
				body = "breaker: " + body
			case strings.HasPrefix(body, "open: "), strings.HasPrefix(body, "slow: "), strings.HasPrefix(body, "probes: "):
				body = "breaker: {" + body + "}"
			case strings.HasPrefix(body, "backoff: "), strings.HasPrefix(body, "jitter: "), strings.HasPrefix(body, "budget: "):
				body = "retry: {attempts: 2, " + body + "}"
			case strings.HasPrefix(body, "rate: "):
				body = "limit: {" + body + "}"
			default:
				continue
			}
			found++
			src := "steps: [{" + body + "}]"
			_, err := policy.ParseOne("docs/migrating.md", []byte(src))
			assert.NoError(t, err, src)
		}
	}
	assert.Greater(t, found, 40)
}

// TestMapOfGuides looks for guides that docs/README.md does not link to.
func TestMapOfGuides(t *testing.T) {
	guides := read(t, "docs/README.md")
	for _, page := range pages(t) {
		name, err := filepath.Rel("docs", page)
		if err != nil || strings.HasPrefix(name, "..") || name == "README.md" {
			continue
		}
		assert.Contains(t, guides, "("+filepath.ToSlash(name), "docs/README.md has no link to "+page)
	}
}
