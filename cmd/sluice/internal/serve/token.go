package serve

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/filewatch"
)

const (
	// leastToken is how many bytes a token has at least: 16 random ones cannot be guessed.
	leastToken = 16
	// onlyToken is the name of a token without one.
	onlyToken = "admin"
)

// token is one that opens the routes for operators. Its text is not kept.
type token struct {
	name string
	sum  [sha256.Size]byte
}

// tokens has the tokens of a file, or the one of the environment.
type tokens struct {
	file string
	log  *slog.Logger
	list atomic.Pointer[[]token]
	seen *filewatch.Settled[filewatch.Glance]
}

// newTokens returns nil where there is neither a file nor a token.
func newTokens(file, only string, log *slog.Logger) (*tokens, error) {
	t := &tokens{file: file, log: log}
	switch {
	case file != "":
		t.seen = filewatch.NewSettled(filewatch.Look(file))
		return t, t.read()
	case only != "":
		list, err := parseTokens([]byte(only))
		if err != nil {
			return nil, fmt.Errorf("the admin token: %w", err)
		}
		t.list.Store(&list)
		return t, nil
	}
	return nil, nil
}

func (t *tokens) read() error {
	src, err := filewatch.Read(t.file)
	if err != nil {
		return fmt.Errorf("the admin tokens %s: %w", t.file, err)
	}
	list, err := parseTokens(src)
	if err != nil {
		return fmt.Errorf("the admin tokens %s: %w", t.file, err)
	}
	t.list.Store(&list)
	return nil
}

// reload reads the file again when it changed, or when an operator asks. Tokens that
// cannot be read leave the old ones.
func (t *tokens) reload(asked bool) {
	if t.file == "" {
		return
	}
	now := filewatch.Look(t.file)
	if asked {
		t.seen.Taken(now)
	} else if !t.seen.Changed(now) {
		return
	}
	if err := t.read(); err != nil {
		t.log.Error("the admin tokens cannot be used; the old ones stay", "error", err)
		return
	}
	t.log.Info("the admin tokens were read", "file", t.file, "tokens", len(*t.list.Load()))
}

// parseTokens reads a token a line, each with a name before it or without. An error
// never has the text of a token.
func parseTokens(src []byte) (list []token, err error) {
	for i, line := range bytes.Split(src, []byte("\n")) {
		words := strings.Fields(string(line))
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		name, secret := onlyToken, words[len(words)-1]
		if len(words) == 2 {
			name = words[0]
		}
		switch {
		case len(words) > 2:
			return nil, fmt.Errorf("line %d has %d words; allowed: TOKEN, or NAME TOKEN", i+1, len(words))
		case len(secret) < leastToken:
			return nil, fmt.Errorf("line %d has a token of %d bytes; allowed: %d or more", i+1, len(secret), leastToken)
		}
		list = append(list, token{name, sha256.Sum256([]byte(secret))})
	}
	if len(list) == 0 {
		return nil, errors.New("there is none")
	}
	return list, nil
}

// who returns the name of the token that a request has. It compares with all tokens, in a
// time that depends on their number alone.
func (t *tokens) who(r *http.Request) (name string, ok bool) {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(secret)))
	for _, one := range *t.list.Load() {
		if subtle.ConstantTimeCompare(one.sum[:], sum[:]) == 1 {
			name, ok = one.name, true
		}
	}
	return name, ok
}
