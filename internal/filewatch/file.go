package filewatch

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/sluice-go/sluice/policy/tree"
)

// Glance is what tells a changed file without reading it.
type Glance struct {
	size     int64
	modified time.Time
	missing  bool
}

// Look returns what a look at a file sees.
func Look(file string) Glance {
	info, err := os.Stat(file)
	if err != nil {
		return Glance{missing: true}
	}
	return Glance{size: info.Size(), modified: info.ModTime()}
}

// File is a document in a file that is looked at.
type File struct {
	name string
	seen *Settled[Glance]
	last []byte // what was read last, nil where the file could not be read
	err  error  // of the latest read
}

// New returns a file of which a text was read before, nil for none.
func New(name string, text []byte) *File {
	return &File{name: name, seen: NewSettled(Look(name)), last: text}
}

// Change is what a file has that has changed, or an error where it cannot be read.
type Change struct {
	Text []byte
	Err  error
	// Same says that the text is the one that was read before.
	Same bool
}

// Changed looks at the file, and reads it where it has settled on something else, or could not
// be read before. It returns false where the text, or the error, is as before.
func (f *File) Changed() (c Change, ok bool) {
	before := f.err
	if !f.seen.Changed(Look(f.name)) && before == nil {
		return c, false
	}
	c = f.read()
	if c.Err != nil && before != nil && c.Err.Error() == before.Error() {
		return c, false
	}
	return c, !c.Same
}

// Read reads the file, changed or not.
func (f *File) Read() Change {
	f.seen.Taken(Look(f.name))
	return f.read()
}

func (f *File) read() Change {
	text, err := Read(f.name)
	if f.err = err; err != nil {
		// When it is back with the same text, that is a change.
		f.last = nil
		return Change{Err: err}
	}
	same := bytes.Equal(text, f.last)
	f.last = text
	return Change{Text: text, Same: same}
}

// Read reads a document, and a byte more than one may have at most. The error is without the
// name of the file.
func Read(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, Bare(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, tree.MaxBytes+1))
	return text, Bare(err)
}

// Bare is an error of a file without its name.
func Bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
