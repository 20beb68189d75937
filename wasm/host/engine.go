package host

// Engine is an instance of the module in a runtime. It need not be safe for
// concurrent use.
type Engine interface {
	// Function returns an export, nil where the module has none of the name.
	Function(name string) Function
	// Memory returns the memory of the instance, nil for none. It is read and
	// written until the next call of a function alone.
	Memory() []byte
	// Close releases the instance.
	Close() error
}

// BatchEngine is an Engine that says how events are sent.
type BatchEngine interface {
	Engine
	// Batches reports whether a parameter of a call costs more than an event that is
	// written to the buffer: a pipeline then sends each event as a batch of one.
	Batches() bool
}

// Function is an export of an instance.
type Function interface {
	// Signature has a letter for each parameter and, behind a colon, for the
	// result: i for i32, d for f64, ? for what this ABI does not have.
	Signature() string
	// Call takes its arguments from the first words of the stack, an i32 as
	// itself and an f64 by its bits, and leaves the result in the first. An
	// error means that the instance is lost.
	Call(stack []uint64) error
}

// export is a function of the module that is called here.
type export uint8

// The exports. Every module has those up to free; one that was built for less
// than whole policies lacks some of the others.
const (
	initialize export = iota
	version
	slots
	buffer
	free
	planOf
	bodyOf
	describe
	encode
	makerOf
	pipelineOf
	joinOf
	begin
	done
	cancel
	renew
	advance
	configure
	uses
	save
	load
	batch
	limiterOf
	bulkheadOf
	breakerOf
	cellOf
	acquire
	step
	pass
	adopt
	state
	restore
	exports
)

// abiTable has the names and the types of the exports, as ABI.md does.
var abiTable = [exports]struct{ name, signature string }{
	initialize: {"_initialize", ":"},
	version:    {"abi", ":i"},
	slots:      {"slots", ":i"},
	buffer:     {"buffer", "i:i"},
	free:       {"free", "i:i"},
	planOf:     {"plan", "ii:i"},
	bodyOf:     {"body", "i:i"},
	describe:   {"describe", "ii:i"},
	encode:     {"encode", "i:i"},
	makerOf:    {"maker", "ii:i"},
	pipelineOf: {"pipeline", "iii:i"},
	joinOf:     {"join", "iiii:i"},
	begin:      {"begin", "iiidd:i"},
	done:       {"done", "iiiiidd:i"},
	cancel:     {"cancel", "iiid:i"},
	renew:      {"renew", "iiiid:i"},
	advance:    {"advance", "id:i"},
	configure:  {"configure", "iid:i"},
	uses:       {"uses", "ii:i"},
	save:       {"save", "iii:i"},
	load:       {"load", "iiiidd:i"},
	batch:      {"batch", "ii:i"},
	limiterOf:  {"limiter", "i:i"},
	bulkheadOf: {"bulkhead", "i:i"},
	breakerOf:  {"breaker", "i:i"},
	cellOf:     {"cell", "id:i"},
	acquire:    {"acquire", "iiid:i"},
	step:       {"step", "iiiid:i"},
	pass:       {"pass", "id:i"},
	adopt:      {"adopt", "iid:i"},
	state:      {"state", "i:i"},
	restore:    {"restore", "iidd:i"},
}
