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
func Write(name string, write func(io.Writer) error) error {
	return replace(name, 0o644, false, write)
}

// WriteDurable is Write for a file that its owner alone may read and that outlives a crash
// of the machine from then on.
func WriteDurable(name string, write func(io.Writer) error) error {
	return replace(name, 0o600, true, write)
}

func replace(name string, mode fs.FileMode, durable bool, write func(io.Writer) error) (err error) {
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
	if err = file.Chmod(mode); err != nil {
		return err
	}
	if durable {
		if err = file.Sync(); err != nil {
			return err
		}
	}
	if err = file.Close(); err != nil {
		return err
	}
	if err = os.Rename(file.Name(), target); err != nil || !durable {
		return err
	}
	syncFolder(filepath.Dir(target))
	return nil
}

// syncFolder makes a name in a folder durable. Not every file system of a folder can.
func syncFolder(name string) {
	folder, err := os.Open(name)
	if err != nil {
		return
	}
	defer folder.Close()
	_ = folder.Sync()
}
