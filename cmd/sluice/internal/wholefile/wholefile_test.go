package wholefile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/cmd/sluice/internal/wholefile"
)

func TestWrite(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "a.html")
	write := func(text string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		}
	}
	require.NoError(t, wholefile.Write(name, write("first")))
	require.NoError(t, wholefile.Write(name, write("second")))
	content, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "second", string(content))

	err = wholefile.Write(name, func(w io.Writer) error {
		require.NoError(t, write("half")(w))
		return errors.New("broken")
	})
	require.EqualError(t, err, "cannot write "+name+": broken")
	content, err = os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "second", string(content), "the old file stays")

	require.EqualError(t, wholefile.Write(folder, write("")), "cannot write "+folder+": it is a directory")
	missing := filepath.Join(folder, "missing", "a.html")
	require.EqualError(t, wholefile.Write(missing, write("")), "cannot write "+missing+": no such file or directory")
	require.ErrorContains(t, wholefile.Write(os.DevNull, write("")), "it is not a regular file")

	link := filepath.Join(folder, "link.html")
	require.NoError(t, os.Symlink(name, link))
	require.NoError(t, wholefile.Write(link, write("third")))
	content, err = os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "third", string(content))
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 2, "nothing else is left")
}
