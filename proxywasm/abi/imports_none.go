//go:build !(wasm || tinygo.wasm)

package abi

import "unsafe"

// Outside of a proxy there is no host.

func proxyLog(uint32, unsafe.Pointer, uint32) uint32 { return uint32(Unimplemented) }

func proxyGetLogLevel(unsafe.Pointer) uint32 { return uint32(Unimplemented) }

func proxyGetProperty(unsafe.Pointer, uint32, unsafe.Pointer, unsafe.Pointer) uint32 {
	return uint32(Unimplemented)
}

func proxySetProperty(unsafe.Pointer, uint32, unsafe.Pointer, uint32) uint32 {
	return uint32(Unimplemented)
}

func proxyGetHeaderMapPairs(uint32, unsafe.Pointer, unsafe.Pointer) uint32 {
	return uint32(Unimplemented)
}

func proxySetHeaderMapPairs(uint32, unsafe.Pointer, uint32) uint32 { return uint32(Unimplemented) }

func proxyGetHeaderMapValue(uint32, unsafe.Pointer, uint32, unsafe.Pointer, unsafe.Pointer) uint32 {
	return uint32(Unimplemented)
}

func proxyAddHeaderMapValue(uint32, unsafe.Pointer, uint32, unsafe.Pointer, uint32) uint32 {
	return uint32(Unimplemented)
}

func proxyReplaceHeaderMapValue(uint32, unsafe.Pointer, uint32, unsafe.Pointer, uint32) uint32 {
	return uint32(Unimplemented)
}

func proxyRemoveHeaderMapValue(uint32, unsafe.Pointer, uint32) uint32 { return uint32(Unimplemented) }

func proxyGetBufferBytes(uint32, uint32, uint32, unsafe.Pointer, unsafe.Pointer) uint32 {
	return uint32(Unimplemented)
}

func proxySetBufferBytes(uint32, uint32, uint32, unsafe.Pointer, uint32) uint32 {
	return uint32(Unimplemented)
}

func proxyContinueStream(uint32) uint32 { return uint32(Unimplemented) }

func proxyCloseStream(uint32) uint32 { return uint32(Unimplemented) }

func proxySendLocalResponse(uint32, unsafe.Pointer, uint32, unsafe.Pointer, uint32, unsafe.Pointer, uint32, int32) uint32 {
	return uint32(Unimplemented)
}

func proxyHTTPCall(unsafe.Pointer, uint32, unsafe.Pointer, uint32, unsafe.Pointer, uint32, unsafe.Pointer, uint32, uint32, unsafe.Pointer) uint32 {
	return uint32(Unimplemented)
}

func proxyGRPCCall(unsafe.Pointer, uint32, unsafe.Pointer, uint32, unsafe.Pointer, uint32, unsafe.Pointer, uint32, unsafe.Pointer, uint32, uint32, unsafe.Pointer) uint32 {
	return uint32(Unimplemented)
}

func proxyGetSharedData(unsafe.Pointer, uint32, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer) uint32 {
	return uint32(Unimplemented)
}

func proxySetSharedData(unsafe.Pointer, uint32, unsafe.Pointer, uint32, uint32) uint32 {
	return uint32(Unimplemented)
}

func proxyDefineMetric(uint32, unsafe.Pointer, uint32, unsafe.Pointer) uint32 {
	return uint32(Unimplemented)
}

func proxyIncrementMetric(uint32, int64) uint32 { return uint32(Unimplemented) }

func proxyRecordMetric(uint32, uint64) uint32 { return uint32(Unimplemented) }

func proxyGetMetric(uint32, unsafe.Pointer) uint32 { return uint32(Unimplemented) }

func proxySetTickPeriod(uint32) uint32 { return uint32(Unimplemented) }

func proxyGetCurrentTime(unsafe.Pointer) uint32 { return uint32(Unimplemented) }

func proxySetEffectiveContext(uint32) uint32 { return uint32(Unimplemented) }

func clockTimeGet(uint32, uint64, unsafe.Pointer) uint32 { return uint32(Unimplemented) }
