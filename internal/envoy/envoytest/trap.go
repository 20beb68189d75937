package envoytest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TrapHeaders is the number of headers with which a request makes a module of Trapping
// fail.
const TrapHeaders = 40

// TrapRequest returns the headers of such a request.
func TrapRequest() []string {
	headers := make([]string, TrapHeaders)
	for i := range headers {
		headers[i] = fmt.Sprintf("X-%d: 1", i)
	}
	return headers
}

// Trapping writes a copy of a module that fails at a request with TrapHeaders headers or
// more, and returns its path. In all else it is the module.
func Trapping(t testing.TB, module string) string {
	t.Helper()
	src, err := os.ReadFile(module)
	require.NoError(t, err)
	src, err = trapping(src)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "trapping.wasm")
	require.NoError(t, os.WriteFile(file, src, 0o600))
	return file
}

// The sections of a module that are changed or read.
const (
	importSection   = 2
	functionSection = 3
	exportSection   = 7
	codeSection     = 10
)

const (
	exported = "proxy_on_request_headers"
	function = 0 // the kind of an import or an export
)

var errModule = errors.New("not a module whose request headers can be taken over")

// trapping adds a function that calls the exported one, and exports it in its place.
// Functions are numbered in the order of the imports and then of the code, so that a new
// last one changes no number.
func trapping(module []byte) ([]byte, error) {
	type section struct {
		id   byte
		body []byte
	}
	var sections []section
	r := &reader{module}
	out := slices.Clone(r.take(8)) // magic and version
	for len(r.rest) > 0 && r.rest[0] <= 13 {
		id := r.take(1)[0]
		sections = append(sections, section{id, r.take(int(r.number()))})
	}
	at := func(id byte) *section {
		i := slices.IndexFunc(sections, func(s section) bool { return s.id == id })
		if i < 0 {
			return &section{id: id, body: []byte{0}}
		}
		return &sections[i]
	}
	imports := &reader{at(importSection).body}
	imported := int(imports.number())
	for range imported {
		imports.name()
		imports.name()
		if imports.take(1)[0] != function {
			return nil, errModule // a filter imports nothing else
		}
		imports.number()
	}
	functions := &reader{at(functionSection).body}
	defined := functions.number()
	listed := functions.rest
	types := make([]uint64, defined)
	for i := range types {
		types[i] = functions.number()
	}
	// The export gets the number of the new function, in as many bytes as it needs.
	exports := &reader{at(exportSection).body}
	count := exports.number()
	table := binary.AppendUvarint(nil, count)
	original := -1
	for range count {
		name, kind, index := exports.name(), exports.take(1)[0], exports.number()
		if string(name) == exported && kind == function {
			original = int(index)
			index = uint64(imported) + defined
		}
		table = append(binary.AppendUvarint(table, uint64(len(name))), name...)
		table = binary.AppendUvarint(append(table, kind), index)
	}
	if original < imported || original-imported >= len(types) {
		return nil, errModule
	}
	at(exportSection).body = table
	at(functionSection).body = binary.AppendUvarint(append(binary.AppendUvarint(nil, defined+1), listed...), types[original-imported])

	code := &reader{at(codeSection).body}
	if code.number() != defined {
		return nil, errModule
	}
	// local.get 1; i32.const TrapHeaders; i32.ge_u; if; unreachable; end; the call; end
	body := []byte{0, 0x20, 1, 0x41, TrapHeaders, 0x4F, 0x04, 0x40, 0x00, 0x0B, 0x20, 0, 0x20, 1, 0x20, 2, 0x10}
	body = append(binary.AppendUvarint(body, uint64(original)), 0x0B)
	bodies := append(binary.AppendUvarint(nil, defined+1), code.rest...)
	at(codeSection).body = append(binary.AppendUvarint(bodies, uint64(len(body))), body...)
	for _, s := range sections {
		out = append(binary.AppendUvarint(append(out, s.id), uint64(len(s.body))), s.body...)
	}
	return out, nil
}

// reader reads a valid module.
type reader struct{ rest []byte }

func (r *reader) take(n int) []byte {
	taken := r.rest[:n:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	r.rest = r.rest[size:]
	return n
}

func (r *reader) name() []byte { return r.take(int(r.number())) }
