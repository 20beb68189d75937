// Package wholefile writes files in full or not at all.
package wholefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write writes a file in full or not at all: what was there before stays
// until the new one is complete.
func Write(name string, write func(io.Writer) error) (err error) {
	failed := func(err error) error {
		var path *fs.PathError
		var link *os.LinkError
		switch {
		case errors.As(err, &path):
			err = path.Err
		case errors.As(err, &link):
			err = link.Err
		}
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	target := name
	switch info, err := os.Stat(name); {
	case err == nil && info.IsDir():
		return failed(errors.New("it is a directory"))
	case err == nil && !info.Mode().IsRegular():
		return failed(errors.New("it is not a regular file"))
	case err == nil:
		// A link stays one, and what it leads to is replaced.
		if target, err = filepath.EvalSymlinks(name); err != nil {
			return failed(err)
		}
	}
	file, err := os.CreateTemp(filepath.Dir(target), ".sluice-*")
	if err != nil {
		return failed(err)
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(file.Name())
			err = failed(err)
		}
	}()
	if err = write(file); err != nil {
		return err
	}
	if err = file.Chmod(0o644); err != nil {
		return err
	}
	if err = file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), target)
}
