package vectors

import (
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/planbytes"
	"github.com/sluice-go/sluice/policy/document"
)

// WithReader returns an instance of a module without the reader of documents, such as
// core.wasm, with the reader of this process before it: a policy reaches the module
// as plan bytes.
func WithReader(i Instance) Instance { return &withReader{Instance: i, steps: map[uint32]int{}} }

type withReader struct {
	Instance
	steps map[uint32]int // of the plans by handle
}

// Call implements Instance.
func (w *withReader) Call(export string, parameters ...uint64) (int32, error) {
	switch export {
	case "body":
		return w.body(uint32(parameters[0]))
	case "describe":
		if int(parameters[1]) < w.steps[uint32(parameters[0])] {
			return 1, nil
		}
		return 0, nil
	}
	return w.Instance.Call(export, parameters...)
}

func (w *withReader) body(size uint32) (int32, error) {
	read, err := document.ParseOneJSON("policy", w.Buffer(size))
	if err != nil {
		return 0, err
	}
	plan, err := pipeline.Compile(read.Policy)
	if err != nil {
		return 0, err
	}
	src := planbytes.Append(nil, plan)
	if code, err := w.Instance.Call("buffer", uint64(len(src))); err != nil || code < 0 {
		return code, err
	}
	copy(w.Buffer(uint32(len(src))), src)
	handle, err := w.Instance.Call("compile", uint64(len(src)))
	if handle > 0 {
		w.steps[uint32(handle)] = int(src[2])
	}
	return handle, err
}
