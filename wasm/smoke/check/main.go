// Command check reads a wasm module and prints its size, raw and compressed,
// with its exports. It ends with 1 when the module imports anything.
//
//	go run ./wasm/smoke/check FILE.wasm
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
)

const (
	sectionImport = 2
	sectionExport = 7
	kindFunction  = 0
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: check FILE.wasm")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "check: %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

func run(name string) error {
	module, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	imports, exports, err := read(module)
	if err != nil {
		return err
	}
	var small bytes.Buffer
	packer, _ := gzip.NewWriterLevel(&small, gzip.BestCompression)
	if _, err := packer.Write(module); err != nil {
		return err
	}
	if err := packer.Close(); err != nil {
		return err
	}
	fmt.Printf("%s: %d bytes, %d with gzip -9; %d imports; exports %s\n",
		name, len(module), small.Len(), imports, strings.Join(exports, " "))
	if imports > 0 {
		return fmt.Errorf("the module has %d imports, it may have none", imports)
	}
	return nil
}

var errCut = errors.New("not a whole wasm module")

// read walks the sections of a module and returns how many imports it
// declares and the names of the functions that it exports.
func read(module []byte) (imports uint64, exports []string, err error) {
	if !bytes.HasPrefix(module, []byte("\x00asm\x01\x00\x00\x00")) {
		return 0, nil, errors.New("not a wasm module of version 1")
	}
	for rest := module[8:]; len(rest) > 0; {
		id := rest[0]
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || size > uint64(len(rest)-1-n) {
			return 0, nil, errCut
		}
		section := rest[1+n : 1+n+int(size)]
		rest = rest[1+n+int(size):]
		switch id {
		case sectionImport:
			if imports, n = binary.Uvarint(section); n <= 0 {
				return 0, nil, errCut
			}
		case sectionExport:
			if exports, err = exported(section); err != nil {
				return 0, nil, err
			}
		}
	}
	return imports, exports, nil
}

func exported(section []byte) (names []string, err error) {
	count, n := binary.Uvarint(section)
	if n <= 0 {
		return nil, errCut
	}
	for section = section[n:]; count > 0; count-- {
		size, n := binary.Uvarint(section)
		if n <= 0 || size >= uint64(len(section)-n) {
			return nil, errCut
		}
		name, after := string(section[n:n+int(size)]), section[n+int(size):]
		_, n = binary.Uvarint(after[1:])
		if n <= 0 {
			return nil, errCut
		}
		if after[0] == kindFunction {
			names = append(names, name)
		}
		section = after[1+n:]
	}
	return names, nil
}
