//go:build tinygo

package main

import "unsafe"

type ptr = unsafe.Pointer

//go:wasmimport env proxy_log
func proxyLog(level uint32, text ptr, size uint32) uint32

//go:wasmimport env proxy_get_log_level
func proxyGetLogLevel(level ptr) uint32

//go:wasmimport env proxy_get_status
func proxyGetStatus(code, data, size ptr) uint32

//go:wasmimport env proxy_get_property
func proxyGetProperty(path ptr, size uint32, data, dataSize ptr) uint32

//go:wasmimport env proxy_set_property
func proxySetProperty(path ptr, size uint32, data ptr, dataSize uint32) uint32

//go:wasmimport env proxy_get_header_map_size
func proxyGetHeaderMapSize(kind uint32, size ptr) uint32

//go:wasmimport env proxy_get_header_map_pairs
func proxyGetHeaderMapPairs(kind uint32, data, size ptr) uint32

//go:wasmimport env proxy_set_header_map_pairs
func proxySetHeaderMapPairs(kind uint32, data ptr, size uint32) uint32

//go:wasmimport env proxy_get_header_map_value
func proxyGetHeaderMapValue(kind uint32, name ptr, size uint32, data, dataSize ptr) uint32

//go:wasmimport env proxy_add_header_map_value
func proxyAddHeaderMapValue(kind uint32, name ptr, size uint32, data ptr, dataSize uint32) uint32

//go:wasmimport env proxy_replace_header_map_value
func proxyReplaceHeaderMapValue(kind uint32, name ptr, size uint32, data ptr, dataSize uint32) uint32

//go:wasmimport env proxy_remove_header_map_value
func proxyRemoveHeaderMapValue(kind uint32, name ptr, size uint32) uint32

//go:wasmimport env proxy_get_buffer_status
func proxyGetBufferStatus(kind uint32, size, flags ptr) uint32

//go:wasmimport env proxy_get_buffer_bytes
func proxyGetBufferBytes(kind, start, length uint32, data, size ptr) uint32

//go:wasmimport env proxy_set_buffer_bytes
func proxySetBufferBytes(kind, start, length uint32, data ptr, size uint32) uint32

//go:wasmimport env proxy_continue_stream
func proxyContinueStream(kind uint32) uint32

//go:wasmimport env proxy_close_stream
func proxyCloseStream(kind uint32) uint32

//go:wasmimport env proxy_send_local_response
func proxySendLocalResponse(code uint32, details ptr, detailsSize uint32, body ptr, bodySize uint32, headers ptr, headersSize uint32, grpc int32) uint32

//go:wasmimport env proxy_http_call
func proxyHTTPCall(cluster ptr, clusterSize uint32, headers ptr, headersSize uint32, body ptr, bodySize uint32, trailers ptr, trailersSize, timeout uint32, id ptr) uint32

//go:wasmimport env proxy_grpc_call
func proxyGRPCCall(upstream ptr, upstreamSize uint32, service ptr, serviceSize uint32, method ptr, methodSize uint32, metadata ptr, metadataSize uint32, message ptr, messageSize, timeout uint32, id ptr) uint32

//go:wasmimport env proxy_grpc_stream
func proxyGRPCStream(upstream ptr, upstreamSize uint32, service ptr, serviceSize uint32, method ptr, methodSize uint32, metadata ptr, metadataSize uint32, id ptr) uint32

//go:wasmimport env proxy_grpc_send
func proxyGRPCSend(id uint32, message ptr, size, end uint32) uint32

//go:wasmimport env proxy_grpc_cancel
func proxyGRPCCancel(id uint32) uint32

//go:wasmimport env proxy_grpc_close
func proxyGRPCClose(id uint32) uint32

//go:wasmimport env proxy_get_shared_data
func proxyGetSharedData(key ptr, size uint32, data, dataSize, cas ptr) uint32

//go:wasmimport env proxy_set_shared_data
func proxySetSharedData(key ptr, size uint32, data ptr, dataSize, cas uint32) uint32

//go:wasmimport env proxy_register_shared_queue
func proxyRegisterSharedQueue(name ptr, size uint32, id ptr) uint32

//go:wasmimport env proxy_resolve_shared_queue
func proxyResolveSharedQueue(vm ptr, vmSize uint32, name ptr, size uint32, id ptr) uint32

//go:wasmimport env proxy_enqueue_shared_queue
func proxyEnqueueSharedQueue(id uint32, data ptr, size uint32) uint32

//go:wasmimport env proxy_dequeue_shared_queue
func proxyDequeueSharedQueue(id uint32, data, size ptr) uint32

//go:wasmimport env proxy_define_metric
func proxyDefineMetric(kind uint32, name ptr, size uint32, id ptr) uint32

//go:wasmimport env proxy_increment_metric
func proxyIncrementMetric(id uint32, delta int64) uint32

//go:wasmimport env proxy_record_metric
func proxyRecordMetric(id uint32, value uint64) uint32

//go:wasmimport env proxy_get_metric
func proxyGetMetric(id uint32, value ptr) uint32

//go:wasmimport env proxy_set_tick_period_milliseconds
func proxySetTickPeriodMilliseconds(period uint32) uint32

//go:wasmimport env proxy_get_current_time_nanoseconds
func proxyGetCurrentTimeNanoseconds(now ptr) uint32

//go:wasmimport env proxy_set_effective_context
func proxySetEffectiveContext(context uint32) uint32

//go:wasmimport env proxy_done
func proxyDone() uint32

//go:wasmimport env proxy_call_foreign_function
func proxyCallForeignFunction(name ptr, size uint32, arguments ptr, argumentsSize uint32, data, dataSize ptr) uint32

//go:wasmimport wasi_snapshot_preview1 clock_time_get
func clockTimeGet(id uint32, precision uint64, now ptr) uint32

//go:wasmimport wasi_snapshot_preview1 fd_write
func fdWrite(file uint32, parts ptr, count uint32, written ptr) uint32

//go:wasmimport wasi_snapshot_preview1 random_get
func randomGet(data ptr, size uint32) uint32

//go:wasmimport wasi_snapshot_preview1 environ_sizes_get
func environSizesGet(count, size ptr) uint32

//go:wasmimport wasi_snapshot_preview1 environ_get
func environGet(pointers, text ptr) uint32
