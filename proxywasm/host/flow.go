package host

// The results of a headers callback; a body has the same numbers but for
// stopBuffer, stopWatermark and stopNoBuffer. Source: proxy_wasm_enums.h.
const (
	goOn             = 0
	stopHeaders      = 1
	stopAllBuffer    = 3
	stopAllWatermark = 4

	stopBuffer    = 1
	stopWatermark = 2
	stopNoBuffer  = 3

	stopTrailers = 1
)

// iteration says how far a filter lets frames pass.
type iteration int

const (
	flowing    iteration = iota
	stopped              // the filter gets the next frame, what is behind it does not
	stoppedAll           // frames wait before the filter
)

// flow is one direction of a stream through the filter: ActiveStreamFilterBase of
// Envoy's filter manager.
type flow struct {
	headersExport, bodyExport, trailersExport string

	headers, trailers         Headers
	arrived                   bool // the headers
	hasTrailers               bool
	complete                  bool // the sender's end has arrived
	seesHeaders, seesTrailers bool // the guest can read the map now
	view                      *[]byte
	buffering                 bool // the guest asked for the whole body
	buffered                  []byte
	hasBuffered               bool
	iteration                 iteration
	continued                 bool // the headers went on
	aborted                   bool // a local response replaced what follows
	out                       *Message
}

// forgetFrames takes from the guest what it holds of the request. Source:
// Context::continueStream.
func (f *flow) forgetFrames() { f.seesHeaders, f.seesTrailers, f.view = false, false, nil }

func (s *Stream) arriveHeaders(f *flow, headers Headers, end bool) {
	f.headers, f.arrived, f.complete = headers.normal(), true, end
	result := s.callback(f, f.headersExport, len(f.headers), end, headersResult)
	if result == goOn {
		f.seesHeaders = false
	}
	switch {
	case s.ended:
	case f.aborted || result == stopHeaders:
		f.iteration = stopped
	case result == stopAllBuffer || result == stopAllWatermark:
		f.iteration = stoppedAll
	default:
		f.continued = true
		s.passHeaders(f, end)
	}
	s.answerPrepared()
}

func (s *Stream) arriveBody(f *flow, data []byte, end bool) {
	f.complete = f.complete || end
	switch {
	case s.ended || f.aborted:
	case f.iteration == stoppedAll:
		f.buffer(data)
	default:
		s.body(f, append([]byte(nil), data...), end)
	}
}

// body gives the filter a part of a body.
func (s *Stream) body(f *flow, data []byte, end bool) {
	f.view = &data
	if f.buffering {
		f.buffer(data)
		data = nil
		f.view = &f.buffered
	}
	had := f.hasTrailers
	result := s.callback(f, f.bodyExport, len(*f.view), end, bodyResult)
	f.buffering = result == stopBuffer
	if result == goOn {
		f.view = nil
	}
	added := f.hasTrailers && !had
	switch {
	case s.ended:
	case f.aborted:
		f.iteration = stopped
	case result != goOn:
		f.iteration = stopped
		if result != stopNoBuffer {
			f.buffer(data)
		} else if f.complete && !f.hasTrailers {
			f.hasBuffered = true
		}
	case f.iteration == stopped:
		f.buffer(data)
		s.resume(f)
	default:
		s.passBody(f, data, end && !added)
		if added {
			s.passTrailers(f)
		}
	}
	s.answerPrepared()
}

func (s *Stream) arriveTrailers(f *flow, trailers Headers) {
	f.complete = true
	if s.ended || f.aborted {
		return
	}
	f.trailers, f.hasTrailers = trailers.normal(), true
	if f.iteration != stoppedAll {
		s.trailersFrame(f)
	}
}

// trailersFrame gives the filter the trailers.
func (s *Stream) trailersFrame(f *flow) {
	f.seesTrailers = true
	result := s.callback(f, f.trailersExport, len(f.trailers), false, trailersResult)
	if result == goOn {
		f.seesTrailers = false
	}
	switch {
	case s.ended:
	case f.aborted || result == stopTrailers:
		f.iteration = max(f.iteration, stopped)
	case f.iteration == stopped:
		s.resume(f)
	default:
		s.passTrailers(f)
	}
	s.answerPrepared()
}

// resume continues what the filter held: ActiveStreamFilterBase::commonContinue. It does
// nothing to a stream that is not held.
func (s *Stream) resume(f *flow) {
	if s.ended || f.iteration == flowing || f.aborted {
		return
	}
	again := f.iteration == stoppedAll // the filter has not seen what waits
	f.iteration = flowing
	trailers := f.hasTrailers
	if !f.continued {
		f.continued = true
		s.passHeaders(f, f.complete && !f.hasBuffered && !trailers)
	}
	if f.hasBuffered && !s.ended {
		data, end := f.buffered, f.complete && !trailers
		f.buffered, f.hasBuffered = nil, false
		if again {
			s.body(f, data, end)
		} else {
			s.passBody(f, data, end)
		}
	}
	switch {
	case !trailers || s.ended || f.aborted:
	case again:
		s.trailersFrame(f)
	default:
		s.passTrailers(f)
	}
}

func (f *flow) buffer(data []byte) {
	f.buffered = append(f.buffered, data...)
	f.hasBuffered = true
}

func (s *Stream) passHeaders(f *flow, end bool) {
	f.out = &Message{Headers: f.headers.normal(), Complete: end}
	s.passed(f)
}

func (s *Stream) passBody(f *flow, data []byte, end bool) {
	f.out.Body = append(f.out.Body, data...)
	f.out.Complete = end
	s.passed(f)
}

func (s *Stream) passTrailers(f *flow) {
	f.out.Trailers = f.trailers.normal()
	f.out.Complete = true
	s.passed(f)
}

// passed ends the stream with its response.
func (s *Stream) passed(f *flow) {
	if f == &s.encode && f.out.Complete {
		s.finish()
	}
}

// callback runs a callback of the stream and returns the result as Envoy takes it.
func (s *Stream) callback(f *flow, export string, size int, end bool, convert func(*Stream, uint64) uint64) uint64 {
	c := s.context
	if c == nil || f == &s.encode && s.failed {
		return goOn
	}
	running := &s.answering
	if f == &s.decode {
		running = &s.deciding
	}
	*running++
	defer func() { *running-- }()
	if export == f.headersExport {
		if f == &s.decode {
			c.create()
		}
		if !c.created {
			return goOn
		}
		f.seesHeaders = true
	}
	s.lastFrame = end
	if !c.vm.alive() {
		s.failStream()
		return convert(s, stopEverything)
	}
	if !c.vm.has(export) {
		return goOn
	}
	args := []uint64{uint64(c.id), uint64(size)}
	if export != f.trailersExport {
		args = append(args, uint64(bit(end)))
	}
	result := c.vm.invoke(c, export, args...)
	if !c.vm.alive() {
		s.failStream()
		result = stopEverything
	}
	result = convert(s, result)
	c.vm.afterCall()
	return result
}

// stopEverything is greater than any result of a callback.
const stopEverything = 1 << 32

func (s *Stream) halted() bool { return s.context.vm != nil && s.context.vm.stopped }

func headersResult(s *Stream, result uint64) uint64 {
	switch {
	case s.halted() || result > stopAllWatermark:
		return stopAllWatermark
	case result == stopHeaders && !s.context.plugin.AllowOnHeadersStopIteration:
		return stopAllWatermark
	case result == 2: // ContinueAndEndStream, which Envoy's filter takes for Continue
		return goOn
	}
	return result
}

func bodyResult(s *Stream, result uint64) uint64 {
	if s.halted() || result > stopNoBuffer {
		return stopNoBuffer
	}
	return result
}

func trailersResult(s *Stream, result uint64) uint64 {
	if s.halted() || result > stopTrailers {
		return stopTrailers
	}
	return result
}
