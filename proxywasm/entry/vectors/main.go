//go:build tinygo.wasm

// Command vectors replays the conformance vectors in a VM of a proxy, compiled as the
// filter is: proxywasm/vectors.wasm. Its plugin configuration is the file of vectors in
// base64. One VM of those that share data replays, one suite with each tick, and logs a
// line for each suite and one at the end.
package main

import (
	"encoding/base64"
	"strconv"
	"unsafe"

	"github.com/sluice-go/sluice/proxywasm/abi"
	"github.com/sluice-go/sluice/vectors"
	"github.com/sluice-go/sluice/wasm/heap"
)

var (
	src    []byte
	suites []vectors.Suite
	number int
	wrong  int
)

func main() {}

//go:wasmexport proxy_abi_version_0_2_1
func version() {}

//go:wasmexport malloc
func allocate(size uint32) unsafe.Pointer { return abi.Allocate(size) }

//go:wasmexport proxy_on_context_create
func create(_, _ uint32) {}

//go:wasmexport proxy_on_configure
func configure(_, size uint32) uint32 {
	heap.Safe()
	abi.Enter()
	src = make([]byte, 0, size)
	for uint32(len(src)) < size {
		abi.Reclaim()
		part, status := abi.Buffer(abi.PluginConfiguration, uint32(len(src)), abi.ArenaSize/2)
		if status != abi.OK {
			return 0
		}
		src = append(src, part...)
	}
	abi.SetTick(1)
	return 1
}

//go:wasmexport proxy_on_tick
func tick(_ uint32) {
	heap.Safe()
	abi.Enter()
	switch {
	case src != nil:
		if abi.SetShared([]byte("vectors"), []byte{1}, abi.Absent) == abi.OK {
			open()
		}
		src = nil
	case number < len(suites):
		replay(&suites[number])
		if number++; number == len(suites) {
			abi.Log(abi.Info, "vectors: "+strconv.Itoa(number-wrong)+" of "+strconv.Itoa(number)+" suites hold")
			suites = nil
		}
	case suites == nil:
		abi.SetTick(0)
	}
}

func open() {
	file := make([]byte, base64.StdEncoding.DecodedLen(len(src)))
	n, err := base64.StdEncoding.Decode(file, src)
	if err != nil {
		abi.Log(abi.Error, "vectors: "+err.Error())
		return
	}
	f, err := vectors.Decode(file[:n])
	if err != nil {
		abi.Log(abi.Error, "vectors: "+err.Error())
		return
	}
	suites = f.Suites
}

func replay(s *vectors.Suite) {
	f := vectors.File{Suites: []vectors.Suite{*s}}
	if err := f.Replay(vectors.Native()); err != nil {
		wrong++
		abi.Log(abi.Error, "vectors: "+err.Error())
		return
	}
	abi.Log(abi.Info, "vectors: "+s.Name+" holds")
}
