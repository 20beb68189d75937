package vectors

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const magic = "SLUICEV1"

// stride is how many steps a digest covers.
const stride = 32

// Kind of a suite.
const (
	ofCell     = 0
	ofPipeline = 1
)

// The flags of steps, see the package documentation.
const (
	hasCost     = 1
	hasOutcome  = 2
	hasRef      = 4
	hasPermit   = 8
	hasBefore   = 16
	hasValue    = 32
	hasDeadline = 64
	hasPriority = 128

	hasSpan    = 4
	hasKey     = 8
	hasAttempt = 16
	noHedge    = 32
	lacksKey   = 64
	hasSet     = 128 // of a begin
	hasUsed    = 128 // of a done
)

// The events of pipelines.
const (
	opAdvance = iota
	opBegin
	opDone
	opCancel
	opRenew
	opConfigure
	opJoin
)

// File is what a file of vectors holds.
type File struct{ Suites []Suite }

// Suite is one machine or policy with its steps.
type Suite struct {
	Name     string
	Policies [][]byte
	Pipeline bool
	// Step is the step of the cell. Joined is how many pipelines are joined to the first one.
	Step, Joined uint8
	Seed         uint64
	Sets         []Set
	Count        int
	Steps        []byte
	Digests      []uint32
}

// Steps counts the steps of all suites.
func (f *File) Steps() (n int) {
	for i := range f.Suites {
		n += f.Suites[i].Count
	}
	return n
}

var errFormat = errors.New("not a file of vectors")

// Decode reads a file.
func Decode(src []byte) (*File, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(src))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFormat, err)
	}
	const most = 64 << 20
	plain, err := io.ReadAll(io.LimitReader(unzipped, most))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFormat, err)
	}
	r := reader{rest: plain}
	if string(r.bytes(len(magic))) != magic {
		return nil, errFormat
	}
	f := &File{}
	for range r.u32() {
		s := Suite{Name: string(r.text())}
		for range r.varint() {
			s.Policies = append(s.Policies, r.text())
			if r.err != nil {
				return nil, r.err
			}
		}
		s.Pipeline = r.u8() == ofPipeline
		if of := r.u8(); s.Pipeline {
			s.Joined = of
		} else {
			s.Step = of
		}
		s.Seed = uint64(r.u32()) | uint64(r.u32())<<32
		for range r.varint() {
			s.Sets = append(s.Sets, r.set(len(s.Policies)))
			if r.err != nil {
				return nil, r.err
			}
		}
		s.Count = int(r.varint())
		s.Steps = r.text()
		for range min((s.Count+stride-1)/stride, len(r.rest)/4) {
			s.Digests = append(s.Digests, r.u32())
		}
		if r.err != nil {
			return nil, r.err
		}
		f.Suites = append(f.Suites, s)
	}
	if len(r.rest) != 0 {
		return nil, errFormat
	}
	return f, nil
}

// Encode writes a file. Equal files give equal bytes.
func (f *File) Encode() ([]byte, error) {
	dst := binary.LittleEndian.AppendUint32([]byte(magic), uint32(len(f.Suites)))
	for i := range f.Suites {
		s := &f.Suites[i]
		dst = appendText(dst, []byte(s.Name))
		dst = binary.AppendUvarint(dst, uint64(len(s.Policies)))
		for _, p := range s.Policies {
			dst = appendText(dst, p)
		}
		if s.Pipeline {
			dst = append(dst, ofPipeline, s.Joined)
		} else {
			dst = append(dst, ofCell, s.Step)
		}
		dst = binary.LittleEndian.AppendUint64(dst, s.Seed)
		dst = binary.AppendUvarint(dst, uint64(len(s.Sets)))
		for n := range s.Sets {
			dst = s.Sets[n].append(dst)
		}
		dst = binary.AppendUvarint(dst, uint64(s.Count))
		dst = appendText(dst, s.Steps)
		for _, d := range s.Digests {
			dst = binary.LittleEndian.AppendUint32(dst, d)
		}
	}
	var out bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := zipped.Write(dst); err != nil {
		return nil, err
	}
	if err := zipped.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func appendText(dst, text []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// reader takes fields from the front and remembers the first error; after it
// every field reads as zero.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) bytes(n int) []byte {
	if r.err == nil && (n < 0 || n > len(r.rest)) {
		r.err = fmt.Errorf("%w: cut off", errFormat)
	}
	if r.err != nil {
		return nil
	}
	head := r.rest[:n]
	r.rest = r.rest[n:]
	return head
}

func (r *reader) u8() uint8 {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) varint() uint64 {
	n, size := binary.Uvarint(r.rest)
	if r.bytes(max(size, -1)) == nil || size == 0 {
		r.err = fmt.Errorf("%w: cut off", errFormat)
		return 0
	}
	return n
}

func (r *reader) signed() int64 {
	n, size := binary.Varint(r.rest)
	if r.bytes(max(size, -1)) == nil || size == 0 {
		r.err = fmt.Errorf("%w: cut off", errFormat)
		return 0
	}
	return n
}

func (r *reader) text() []byte {
	n := r.varint()
	if n > uint64(len(r.rest)) {
		n = uint64(len(r.rest)) + 1
	}
	return r.bytes(int(n))
}

// digest is FNV-1a with 32 bits.
type digest uint32

const seed digest = 2166136261

func (d *digest) add(src []byte) {
	h := *d
	for _, b := range src {
		h = (h ^ digest(b)) * 16777619
	}
	*d = h
}

func (d *digest) u32(v uint32) { d.add(binary.LittleEndian.AppendUint32(nil, v)) }
