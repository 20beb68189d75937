package abi

// Status is the answer of the host to a call. It is an error where it is not OK.
type Status uint32

// The statuses.
const (
	OK                  Status = 0
	NotFound            Status = 1
	BadArgument         Status = 2
	SerializationFailed Status = 3
	ParseFailed         Status = 4
	// InvalidMemory: an address is wrong, or the arena has no room.
	InvalidMemory Status = 6
	Empty         Status = 7
	// Mismatch: the value has changed since its mark of change was read.
	Mismatch      Status = 8
	Internal      Status = 10
	Unimplemented Status = 12
)

// Error implements error.
func (s Status) Error() string {
	switch s {
	case OK:
		return "proxy: ok"
	case NotFound:
		return "proxy: not found"
	case BadArgument:
		return "proxy: bad argument"
	case SerializationFailed:
		return "proxy: serialization failed"
	case ParseFailed:
		return "proxy: parse failed"
	case InvalidMemory:
		return "proxy: invalid memory access"
	case Empty:
		return "proxy: empty"
	case Mismatch:
		return "proxy: compare-and-set mismatch"
	case Internal:
		return "proxy: internal failure"
	case Unimplemented:
		return "proxy: unimplemented"
	}
	return "proxy: unknown status"
}

// Action is what a callback on a part of a stream tells the host.
type Action uint32

// The actions.
const (
	Continue Action = 0
	// Pause stops the iteration of filters until Resume or SendResponse.
	Pause Action = 1
)

// Level is the level of a line of the log.
type Level uint32

// The levels.
const (
	Trace Level = iota
	Debug
	Info
	Warn
	Error
	Critical
)

// Map names a map of header fields or trailers.
type Map uint32

// The maps.
const (
	RequestHeaders Map = iota
	RequestTrailers
	ResponseHeaders
	ResponseTrailers
	GRPCInitialMetadata
	GRPCTrailingMetadata
	CallHeaders
	CallTrailers
)

// BufferKind names a buffer of bytes.
type BufferKind uint32

// The buffers.
const (
	RequestBody BufferKind = iota
	ResponseBody
	DownstreamData
	UpstreamData
	CallBody
	GRPCMessage
	VMConfiguration
	PluginConfiguration
	ForeignArguments
)

// Stream names a direction of a stream.
type Stream uint32

// The directions.
const (
	Request Stream = iota
	Response
	Downstream
	Upstream
)

// MetricKind is the kind of a metric.
type MetricKind uint32

// The kinds of metrics.
const (
	Counter MetricKind = iota
	Gauge
	Histogram
)
