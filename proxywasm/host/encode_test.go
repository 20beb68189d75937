package host_test

import (
	"encoding/binary"
	"slices"
)

// The types of the functions of a test module, as letters: "ii:i".
type importOf struct{ module, name, signature string }

// function is a function of a test module. Its body is instructions without the
// final end; none leaves a function of that type that answers 0.
type function struct {
	export, signature string
	body              []byte
}

// Instructions.
func constant(n int32) []byte { return append([]byte{0x41}, signed(int64(n))...) }
func callOf(index int) []byte { return append([]byte{0x10}, unsigned(uint64(index))...) }

const (
	drop        = 0x1A
	unreachable = 0x00
)

// encode builds a module of a memory of one page, imported functions and others.
// Functions are numbered in the order of imports and functions.
func encode(imports []importOf, functions ...function) []byte {
	var types, imported, declared, exports, code [][]byte
	kind := func(signature string) []byte {
		at := slices.IndexFunc(types, func(t []byte) bool { return string(t) == string(functionType(signature)) })
		if at < 0 {
			at = len(types)
			types = append(types, functionType(signature))
		}
		return unsigned(uint64(at))
	}
	for _, i := range imports {
		imported = append(imported, slices.Concat(name(i.module), name(i.name), []byte{0}, kind(i.signature)))
	}
	exports = append(exports, append(name("memory"), 2, 0))
	for at, f := range functions {
		body := f.body
		if body == nil && f.signature[len(f.signature)-1] == 'i' {
			body = constant(0)
		}
		body = slices.Concat([]byte{0}, body, []byte{0x0B})
		declared = append(declared, kind(f.signature))
		exports = append(exports, slices.Concat(name(f.export), []byte{0}, unsigned(uint64(len(imports)+at))))
		code = append(code, append(unsigned(uint64(len(body))), body...))
	}
	return slices.Concat(
		[]byte("\x00asm\x01\x00\x00\x00"),
		section(1, types), section(2, imported), section(3, declared), section(5, [][]byte{{0, 1}}), section(7, exports), section(10, code),
	)
}

func section(id byte, items [][]byte) []byte {
	content := append(unsigned(uint64(len(items))), slices.Concat(items...)...)
	return slices.Concat([]byte{id}, unsigned(uint64(len(content))), content)
}

func name(text string) []byte { return append(unsigned(uint64(len(text))), text...) }

func functionType(signature string) []byte {
	out := []byte{0x60, 0}
	for _, letter := range signature {
		switch letter {
		case ':':
			out = append(out, 0)
		case 'i':
			out = append(out, 0x7F)
		case 'I':
			out = append(out, 0x7E)
		}
	}
	colon := slices.Index([]byte(signature), ':')
	out[1] = byte(colon)
	out[2+colon] = byte(len(signature) - colon - 1)
	return out
}

func unsigned(n uint64) []byte { return binary.AppendUvarint(nil, n) }

func signed(n int64) []byte {
	var out []byte
	for {
		low := byte(n & 0x7F)
		n >>= 7
		if n == 0 && low < 0x40 || n == -1 && low >= 0x40 {
			return append(out, low)
		}
		out = append(out, low|0x80)
	}
}
