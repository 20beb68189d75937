package sluice

import (
	"context"
	"time"

	"github.com/sluice-go/sluice/internal/filewatch"
)

// Watch reloads the document from a file, first where the file differs from the active
// document and then whenever it changes, until ctx is over, and returns the error of ctx. It
// looks at the file four times a second, also through links and at a file that is replaced, and
// reads one that two looks in a row see unchanged.
//
// A file that cannot be read, or that Reload refuses, is told and leaves the old document
// active. told is called after each attempt, with nil or its error. The logger of WithLogger,
// else slog.Default, gets the error too.
func (s *Set) Watch(ctx context.Context, file string, told ...func(error)) error {
	watched := filewatch.New(file, nil)
	ticker := time.NewTicker(filewatch.Every)
	defer ticker.Stop()
	failed := false
	for change, ok := watched.Read(), true; ; {
		if ok && (failed || !s.has(change)) {
			failed = s.reload(ctx, file, change, told) != nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
			change, ok = watched.Changed()
		}
	}
}

// has reports whether a text is the text of the active document.
func (s *Set) has(change filewatch.Change) bool {
	active := s.text.Load()
	return change.Err == nil && active != nil && *active == string(change.Text)
}

// reload reloads what the file has, and tells how that went.
func (s *Set) reload(ctx context.Context, file string, change filewatch.Change, told []func(error)) error {
	err := change.Err
	if err == nil {
		err = s.Reload(file, change.Text)
	}
	if err != nil {
		applied(s.options).ErrorLogger().ErrorContext(ctx, "sluice: the policy document is not active; the old one stays", "file", file, "error", err)
	}
	for _, f := range told {
		if f != nil {
			f(err)
		}
	}
	return err
}
