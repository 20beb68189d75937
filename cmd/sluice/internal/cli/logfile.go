package cli

import (
	"io"
	"os"
	"sync"
)

// logFile is a file that grows, and that is opened again when another program has
// moved it away.
type logFile struct {
	name string
	mu   sync.Mutex
	to   io.Writer
	file *os.File // nil for standard output
}

// openLog opens the file of a name, or standard output for a hyphen.
func openLog(name string, stdout io.Writer) (*logFile, error) {
	l := &logFile{name: name, to: stdout}
	if name == stdinName {
		return l, nil
	}
	return l, l.Reopen()
}

// Reopen opens the file of the name again. Where that fails the old one stays.
func (l *logFile) Reopen() error {
	if l.name == stdinName {
		return nil
	}
	file, err := os.OpenFile(l.name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		// Every line was written by itself, so nothing is left to fail.
		_ = l.file.Close()
	}
	l.file, l.to = file, file
	return nil
}

// Write implements io.Writer.
func (l *logFile) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(line)
}

// Close implements io.Closer.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
