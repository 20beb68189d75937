//go:build wasm || tinygo.wasm

package abi

import "unsafe"

//go:wasmimport env proxy_log
func proxyLog(level uint32, text unsafe.Pointer, size uint32) uint32

//go:wasmimport env proxy_get_log_level
func proxyGetLogLevel(level unsafe.Pointer) uint32

//go:wasmimport env proxy_get_property
func proxyGetProperty(path unsafe.Pointer, pathSize uint32, at, size unsafe.Pointer) uint32

//go:wasmimport env proxy_set_property
func proxySetProperty(path unsafe.Pointer, pathSize uint32, value unsafe.Pointer, size uint32) uint32

//go:wasmimport env proxy_get_header_map_pairs
func proxyGetHeaderMapPairs(m uint32, at, size unsafe.Pointer) uint32

//go:wasmimport env proxy_set_header_map_pairs
func proxySetHeaderMapPairs(m uint32, pairs unsafe.Pointer, size uint32) uint32

//go:wasmimport env proxy_get_header_map_value
func proxyGetHeaderMapValue(m uint32, name unsafe.Pointer, nameSize uint32, at, size unsafe.Pointer) uint32

//go:wasmimport env proxy_add_header_map_value
func proxyAddHeaderMapValue(m uint32, name unsafe.Pointer, nameSize uint32, value unsafe.Pointer, size uint32) uint32

//go:wasmimport env proxy_replace_header_map_value
func proxyReplaceHeaderMapValue(m uint32, name unsafe.Pointer, nameSize uint32, value unsafe.Pointer, size uint32) uint32

//go:wasmimport env proxy_remove_header_map_value
func proxyRemoveHeaderMapValue(m uint32, name unsafe.Pointer, nameSize uint32) uint32

//go:wasmimport env proxy_get_buffer_bytes
func proxyGetBufferBytes(buffer, start, most uint32, at, size unsafe.Pointer) uint32

//go:wasmimport env proxy_set_buffer_bytes
func proxySetBufferBytes(buffer, start, most uint32, bytes unsafe.Pointer, size uint32) uint32

//go:wasmimport env proxy_continue_stream
func proxyContinueStream(stream uint32) uint32

//go:wasmimport env proxy_close_stream
func proxyCloseStream(stream uint32) uint32

//go:wasmimport env proxy_send_local_response
func proxySendLocalResponse(status uint32, details unsafe.Pointer, detailsSize uint32, body unsafe.Pointer, bodySize uint32, headers unsafe.Pointer, headersSize uint32, grpc int32) uint32

//go:wasmimport env proxy_http_call
func proxyHTTPCall(upstream unsafe.Pointer, upstreamSize uint32, headers unsafe.Pointer, headersSize uint32, body unsafe.Pointer, bodySize uint32, trailers unsafe.Pointer, trailersSize uint32, timeout uint32, id unsafe.Pointer) uint32

//go:wasmimport env proxy_grpc_call
func proxyGRPCCall(upstream unsafe.Pointer, upstreamSize uint32, service unsafe.Pointer, serviceSize uint32, method unsafe.Pointer, methodSize uint32, metadata unsafe.Pointer, metadataSize uint32, message unsafe.Pointer, messageSize uint32, timeout uint32, id unsafe.Pointer) uint32

//go:wasmimport env proxy_get_shared_data
func proxyGetSharedData(key unsafe.Pointer, keySize uint32, at, size, cas unsafe.Pointer) uint32

//go:wasmimport env proxy_set_shared_data
func proxySetSharedData(key unsafe.Pointer, keySize uint32, value unsafe.Pointer, size uint32, cas uint32) uint32

//go:wasmimport env proxy_define_metric
func proxyDefineMetric(kind uint32, name unsafe.Pointer, nameSize uint32, id unsafe.Pointer) uint32

//go:wasmimport env proxy_increment_metric
func proxyIncrementMetric(id uint32, by int64) uint32

//go:wasmimport env proxy_record_metric
func proxyRecordMetric(id uint32, value uint64) uint32

//go:wasmimport env proxy_get_metric
func proxyGetMetric(id uint32, value unsafe.Pointer) uint32

//go:wasmimport env proxy_set_tick_period_milliseconds
func proxySetTickPeriod(milliseconds uint32) uint32

//go:wasmimport env proxy_get_current_time_nanoseconds
func proxyGetCurrentTime(nanoseconds unsafe.Pointer) uint32

//go:wasmimport env proxy_set_effective_context
func proxySetEffectiveContext(context uint32) uint32

//go:wasmimport wasi_snapshot_preview1 clock_time_get
func clockTimeGet(clock uint32, precision uint64, nanoseconds unsafe.Pointer) uint32
