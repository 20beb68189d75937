package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// Sink receives whole lines, on one goroutine.
type Sink interface {
	// Write writes lines, and returns how many bytes of them the receiver has. headers are the
	// headers of the policies at the first of them, for a sink that begins a file.
	Write(headers, lines []byte) (int, error)
	Close() error
}

// ErrFull says that a trace has as many bytes as it may have.
var ErrFull = errors.New("sluice: the trace has reached its maximum of bytes")

// writerSink writes to an io.Writer.
type writerSink struct {
	to      io.Writer
	most    int64 // bytes, 0 for no bound
	written int64
	begun   bool
}

// ToWriter returns a sink that writes to w, at most so many bytes; 0 means no bound.
func ToWriter(w io.Writer, most int64) Sink { return &writerSink{to: w, most: most} }

// Write implements Sink.
func (s *writerSink) Write(headers, lines []byte) (n int, err error) {
	before := 0
	if !s.begun {
		s.begun = true
		before = len(headers)
		lines = append(headers, lines...)
	}
	fits := lines
	if s.most > 0 {
		fits = within(lines, s.most-s.written)
	}
	if len(fits) > 0 {
		n, err = s.to.Write(fits)
		s.written += int64(n)
	}
	if err == nil && len(fits) < len(lines) {
		err = ErrFull
	}
	return max(0, n-before), err
}

// Close implements Sink. The writer belongs to the caller.
func (s *writerSink) Close() error { return nil }

// within returns as many whole lines as have room.
func within(lines []byte, room int64) []byte {
	if int64(len(lines)) <= room {
		return lines
	}
	return lines[:bytes.LastIndexByte(lines[:max(0, room)], '\n')+1]
}

// fileSink writes to a file. A full file is renamed, and another one begun.
type fileSink struct {
	name string
	most int64
	keep int
	file *os.File
	size int64
}

// ToFile returns a sink that writes to a file of a name. A file that is there, and one of
// about most bytes, is renamed to NAME.1, an older one to NAME.2 and so on, of which keep
// are kept; each begins with headers. Where none is kept, a file that is there is
// replaced, and a full one ends the recording with ErrFull.
func ToFile(name string, most int64, keep int) (Sink, error) {
	s := &fileSink{name: name, most: most, keep: keep}
	if err := s.shift(); err != nil {
		return nil, err
	}
	return s, s.open()
}

// open begins a file.
func (s *fileSink) open() (err error) {
	s.size = 0
	s.file, err = os.OpenFile(s.name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	return err
}

// Write implements Sink. A file ends only where the headers are known, so it has a few
// bytes more than it may have where the lines of one Write alone are more.
func (s *fileSink) Write(headers, lines []byte) (n int, err error) {
	if s.keep > 0 && s.size > 0 && s.size+int64(len(lines)) > s.most {
		if err := s.rotate(); err != nil {
			return 0, err
		}
	}
	if s.size == 0 {
		if _, err := s.put(headers); err != nil {
			return 0, err
		}
	}
	fits := lines
	if s.keep == 0 {
		fits = within(lines, s.most-s.size)
	}
	n, err = s.put(fits)
	if err == nil && len(fits) < len(lines) {
		err = ErrFull
	}
	return n, err
}

func (s *fileSink) put(lines []byte) (int, error) {
	n, err := s.file.Write(lines)
	s.size += int64(n)
	return n, err
}

// rotate ends a file and begins a new one.
func (s *fileSink) rotate() error {
	if err := s.file.Close(); err != nil {
		return err
	}
	if err := s.shift(); err != nil {
		return err
	}
	return s.open()
}

// shift renames the files.
func (s *fileSink) shift() error {
	for i := s.keep; i > 0; i-- {
		from := s.name
		if i > 1 {
			from = fmt.Sprintf("%s.%d", s.name, i-1)
		}
		if err := os.Rename(from, fmt.Sprintf("%s.%d", s.name, i)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Close implements Sink.
func (s *fileSink) Close() error { return s.file.Close() }
