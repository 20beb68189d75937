package host

import "strconv"

// Status is what a host call answers the guest. The ABI gives the numbers.
type Status uint32

// The statuses that Envoy answers.
const (
	OK                   Status = 0
	NotFound             Status = 1
	BadArgument          Status = 2
	SerializationFailure Status = 3
	ParseFailure         Status = 4
	InvalidMemoryAccess  Status = 6
	Empty                Status = 7
	CASMismatch          Status = 8
	InternalFailure      Status = 10
	BrokenConnection     Status = 11
	Unimplemented        Status = 12
)

var statuses = map[Status]string{
	OK: "OK", NotFound: "NOT_FOUND", BadArgument: "BAD_ARGUMENT", SerializationFailure: "SERIALIZATION_FAILURE",
	ParseFailure: "PARSE_FAILURE", InvalidMemoryAccess: "INVALID_MEMORY_ACCESS", Empty: "EMPTY",
	CASMismatch: "CAS_MISMATCH", InternalFailure: "INTERNAL_FAILURE", BrokenConnection: "BROKEN_CONNECTION",
	Unimplemented: "UNIMPLEMENTED",
}

// String returns the name in the ABI.
func (s Status) String() string {
	if name, ok := statuses[s]; ok {
		return name
	}
	return "status " + strconv.Itoa(int(s))
}

// Level is the level of a log line. The ABI gives the numbers.
type Level uint32

// The levels, of which Off is none that a guest can log at.
const (
	Trace Level = iota
	Debug
	Info
	Warn
	Error
	Critical
	Off
)

// String returns the name as Envoy prints it.
func (l Level) String() string {
	names := [...]string{"trace", "debug", "info", "warning", "error", "critical", "off"}
	if int(l) < len(names) {
		return names[l]
	}
	return "level " + strconv.Itoa(int(l))
}

// Main is the number of Envoy's main thread in a LogLine and a Worker. It has a
// VM too, which is configured and ticks like a worker's.
const Main = -1

// LogLine is a line that a guest logged, or Envoy about it.
type LogLine struct {
	Level  Level
	Thread int    // the number of the worker, or Main
	Plugin string // the name of the plugin, "" for what concerns a whole VM
	Text   string
}

// String returns the line as Envoy prints it, without its time.
func (l LogLine) String() string {
	return "[" + l.Level.String() + "] " + l.Plugin + ": " + l.Text
}
