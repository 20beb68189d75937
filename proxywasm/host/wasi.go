package host

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
)

// The error numbers of WASI that Envoy answers.
const (
	wasiOK      = 0
	wasiBadF    = 8
	wasiFault   = 21
	wasiInvalid = 28
	wasiNoEntry = 44
	wasiNoSys   = 52
	wasiNotDir  = 20
	wasiNotSup  = 58
)

// wasiImports are the functions of WASI, with the types and the results that they
// have in Envoy: path_link and path_symlink have a parameter less than in WASI.
// Source: exports.cc of proxy-wasm-cpp-host.
var wasiImports = []hostImport{
	{name: "fd_write", signature: "iiii:i", run: fdWrite},
	{name: "fd_read", signature: "iiii:i", run: always(wasiNoSys)},
	{name: "fd_seek", signature: "iIii:i", run: always(wasiOK)},
	{name: "fd_close", signature: "i:i", run: always(wasiOK)},
	{name: "fd_fdstat_get", signature: "ii:i", run: fdStatGet},
	{name: "environ_get", signature: "ii:i", run: environGet},
	{name: "environ_sizes_get", signature: "ii:i", run: environSizesGet},
	{name: "args_get", signature: "ii:i", run: always(wasiOK)},
	{name: "args_sizes_get", signature: "ii:i", run: argsSizesGet},
	{name: "clock_time_get", signature: "iIi:i", run: clockTimeGet},
	{name: "random_get", signature: "ii:i", run: randomGet},
	{name: "proc_exit", signature: "i:", run: always(wasiOK)},
	{name: "path_open", signature: "iiiiiIIii:i", run: always(wasiNoEntry)},
	{name: "fd_prestat_get", signature: "ii:i", run: always(wasiBadF)},
	{name: "fd_prestat_dir_name", signature: "iii:i", run: always(wasiNoSys)},

	{name: "fd_fdstat_set_flags", signature: "ii:i", since: Envoy133, run: always(wasiNoSys)},
	{name: "sched_yield", signature: ":i", since: Envoy133, run: always(wasiOK)},
	{name: "poll_oneoff", signature: "iiii:i", since: Envoy133, run: zero(3, 4, wasiOK)},

	{name: "clock_res_get", signature: "ii:i", since: Envoy139, run: clockResGet},
	{name: "fd_advise", signature: "iIIi:i", since: Envoy139, run: always(wasiOK)},
	{name: "fd_allocate", signature: "iII:i", since: Envoy139, run: output},
	{name: "fd_datasync", signature: "i:i", since: Envoy139, run: output},
	{name: "fd_fdstat_set_rights", signature: "iII:i", since: Envoy139, run: output},
	{name: "fd_filestat_get", signature: "ii:i", since: Envoy139, run: always(wasiBadF)},
	{name: "fd_filestat_set_size", signature: "iI:i", since: Envoy139, run: output},
	{name: "fd_filestat_set_times", signature: "iIIi:i", since: Envoy139, run: output},
	{name: "fd_pread", signature: "iiiIi:i", since: Envoy139, run: always(wasiNoSys)},
	{name: "fd_pwrite", signature: "iiiIi:i", since: Envoy139, run: fdPwrite},
	{name: "fd_readdir", signature: "iiiIi:i", since: Envoy139, run: zero(4, 4, wasiNotDir)},
	{name: "fd_renumber", signature: "ii:i", since: Envoy139, run: fdRenumber},
	{name: "fd_sync", signature: "i:i", since: Envoy139, run: output},
	{name: "fd_tell", signature: "ii:i", since: Envoy139, run: fdTell},
	{name: "path_create_directory", signature: "iii:i", since: Envoy139, run: always(wasiNotSup)},
	{name: "path_filestat_get", signature: "iiiii:i", since: Envoy139, run: always(wasiNotSup)},
	{name: "path_filestat_set_times", signature: "iiiiIIi:i", since: Envoy139, run: always(wasiNotSup)},
	{name: "path_link", signature: "iiiiii:i", since: Envoy139, run: always(wasiNotSup)},
	{name: "path_readlink", signature: "iiiiii:i", since: Envoy139, run: zero(5, 4, wasiNotSup)},
	{name: "path_remove_directory", signature: "iii:i", since: Envoy139, run: always(wasiNotSup)},
	{name: "path_rename", signature: "iiiiii:i", since: Envoy139, run: always(wasiNotSup)},
	{name: "path_symlink", signature: "iiii:i", since: Envoy139, run: always(wasiNotSup)},
	{name: "path_unlink_file", signature: "iii:i", since: Envoy139, run: always(wasiNotSup)},
	{name: "sock_accept", signature: "iii:i", since: Envoy139, run: zero(2, 8, wasiNotSup)},
	{name: "sock_recv", signature: "iiiiii:i", since: Envoy139, run: zero(4, 4, wasiNotSup)},
	{name: "sock_send", signature: "iiiii:i", since: Envoy139, run: zero(4, 4, wasiNotSup)},
	{name: "sock_shutdown", signature: "ii:i", since: Envoy139, run: always(wasiNotSup)},
}

func always(result uint32) func(*call) uint32 { return func(*call) uint32 { return result } }

// zero writes zeros to the address in a parameter.
func zero(parameter int, size uint32, result uint32) func(*call) uint32 {
	return func(c *call) uint32 {
		view, ok := c.vm.view(c.arg(parameter), size)
		if !ok {
			return wasiFault
		}
		clear(view)
		return result
	}
}

// isOutput says whether a file descriptor is one of the two that there are.
func isOutput(fd uint32) bool { return fd == 1 || fd == 2 }

// output does nothing, for the two files that there are.
func output(c *call) uint32 {
	if !isOutput(c.arg(0)) {
		return wasiBadF
	}
	return wasiOK
}

func fdWrite(c *call) uint32  { return c.write(3) }
func fdPwrite(c *call) uint32 { return c.write(4) }

// write logs what a guest writes to its standard output, as info, and to its
// standard error, as an error.
func (c *call) write(sizeAt int) uint32 {
	if !isOutput(c.arg(0)) {
		return wasiBadF
	}
	var text strings.Builder
	for i := range c.arg(2) {
		part, ok := c.vm.view(c.arg(1)+8*i, 8)
		if !ok {
			return wasiFault
		}
		chunk, ok := c.vm.view(binary.LittleEndian.Uint32(part), binary.LittleEndian.Uint32(part[4:]))
		if !ok {
			return wasiFault
		}
		text.Write(chunk)
	}
	if text.Len() > 0 {
		level := map[uint32]Level{1: Info, 2: Error}[c.arg(0)]
		c.log(level, strings.TrimSuffix(text.String(), "\n"))
	}
	return wasi(c.put32(c.arg(sizeAt), uint32(text.Len())))
}

func wasi(ok bool) uint32 {
	if !ok {
		return wasiFault
	}
	return wasiOK
}

// fdStatGet gives the two files the right to be written.
func fdStatGet(c *call) uint32 {
	if !isOutput(c.arg(0)) {
		return wasiBadF
	}
	if view, ok := c.vm.view(c.arg(1), 24); ok {
		clear(view)
		view[8] = 64
	}
	return wasiOK
}

func fdRenumber(c *call) uint32 {
	if !isOutput(c.arg(0)) || !isOutput(c.arg(1)) {
		return wasiBadF
	}
	return wasiNotSup
}

func fdTell(c *call) uint32 {
	if !isOutput(c.arg(0)) {
		return wasiBadF
	}
	return wasi(c.put64(c.arg(1), 0))
}

func (c *call) environment() (variables []string) {
	all := c.vm.base.vm.Environment
	for _, name := range slices.Sorted(maps.Keys(all)) {
		variables = append(variables, name+"="+all[name]+"\x00")
	}
	return variables
}

func environGet(c *call) uint32 {
	at, text := c.arg(0), c.arg(1)
	for _, variable := range c.environment() {
		view, ok := c.vm.view(text, uint32(len(variable)))
		if !ok || !c.put32(at, text) {
			return wasiFault
		}
		copy(view, variable)
		at += 4
		text += uint32(len(variable))
	}
	return wasiOK
}

func environSizesGet(c *call) uint32 {
	variables := c.environment()
	return wasi(c.put32(c.arg(0), uint32(len(variables))) && c.put32(c.arg(1), uint32(len(strings.Join(variables, "")))))
}

func argsSizesGet(c *call) uint32 { return wasi(c.put32(c.arg(0), 0) && c.put32(c.arg(1), 0)) }

func clockTimeGet(c *call) uint32 {
	if c.arg(0) > 1 {
		return wasiNotSup
	}
	now, monotonic := c.vm.process.readClock()
	if c.arg(0) == 1 {
		now = monotonic
	}
	return wasi(c.put64(c.arg(2), now))
}

func clockResGet(c *call) uint32 {
	if c.arg(0) > 1 {
		return wasiNotSup
	}
	return wasi(c.put64(c.arg(1), 1))
}

// maxRandom is the most bytes that a call gives.
const maxRandom = 64 << 10

// randomGet gives bytes that are the same in each process, so that a test repeats.
func randomGet(c *call) uint32 {
	size := c.arg(1)
	if size > maxRandom {
		return wasiInvalid
	}
	view, ok := c.vm.view(c.arg(0), size)
	for i := range view {
		view[i] = byte(c.vm.process.random.Uint32())
	}
	return wasi(ok)
}
