package main

import (
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"strings"
)

// places counts the files outside a mechanism's folder that name it: in code, and not in a
// comment, for Go and TypeScript; anywhere in a page.
func (h *house) places(files []file) error {
	word := regexp.MustCompile(`(?i)(^|[^a-z])` + h.mechanism + `($|[^a-z]|[A-Z])`)
	var found []file
	for _, f := range files {
		if strings.HasPrefix(f.path, "core/"+h.mechanism+"/") || f.path == "CHANGELOG.md" {
			continue
		}
		text := string(f.text)
		switch path.Ext(f.path) {
		case ".go":
			text = goCode(f.text)
		case ".ts":
			text = comments.ReplaceAllString(text, "")
		}
		if word.MatchString(text) {
			found = append(found, f)
		}
	}
	h.print("places of "+h.mechanism, found)
	return nil
}

// comments of TypeScript. A text with two slashes loses its end, which names no mechanism.
var comments = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)

// goCode returns the identifiers and the texts of a Go file.
func goCode(src []byte) string {
	var b strings.Builder
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile("", files.Base(), len(src)), src, func(token.Position, string) {}, 0)
	for {
		_, kind, text := s.Scan()
		switch kind {
		case token.EOF:
			return b.String()
		case token.IDENT, token.STRING:
			b.WriteString(text + "\n")
		}
	}
}
