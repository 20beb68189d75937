package wasm_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestSizes holds the committed modules to the table of README.md.
func TestSizes(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "<!-- sizes -->")
	table, _, _ = strings.Cut(table, "<!-- end of sizes -->")
	modules, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| `+"`(.*)`"+` \|.*\| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$`).FindAllStringSubmatch(table, -1)
	found := map[string]bool{}
	for _, row := range rows {
		found[row[1]] = true
		src, err := os.ReadFile(row[1])
		if err != nil {
			t.Error(err)
			continue
		}
		var zipped bytes.Buffer
		w, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
		if _, err := w.Write(src); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		about(t, row[1], row[2], len(src))
		about(t, row[1]+" gzipped", row[3], zipped.Len())
		if most, _ := strconv.ParseFloat(row[4], 64); float64(zipped.Len()) > most*1000 {
			t.Errorf("%s has %d bytes gzipped, at most %s KB are allowed", row[1], zipped.Len(), row[4])
		}
	}
	for _, m := range modules {
		if strings.HasSuffix(m.Name(), ".wasm") && !found[m.Name()] {
			t.Errorf("%s is not in the table of README.md", m.Name())
		}
	}
}

// about compares a size with the one that the table has, in kilobytes.
func about(t *testing.T, what, written string, size int) {
	t.Helper()
	kilobytes, _ := strconv.ParseFloat(written, 64)
	if share := float64(size) / (kilobytes * 1000); share < 0.95 || share > 1.05 {
		t.Errorf("%s has %d bytes, README.md says %s KB", what, size, written)
	}
}
