package serve

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
)

// strictRequest is a request as a strict reader of RFC 9112 sees it.
type strictRequest struct {
	method, path, query, host string
	fields                    map[string][]string // by names in lower case
	body                      string
	whole                     bool // the body came to its end
}

// readStrict reads one request and refuses whatever the grammar does not have. It shares no
// code with net/http, so that it cannot share its mistakes. io.EOF says that there is no
// further request.
func readStrict(r *bufio.Reader) (q strictRequest, err error) {
	line, err := strictLine(r)
	if err != nil {
		return q, err
	}
	parts := strings.Split(line, " ")
	if len(parts) != 3 || !strictToken(parts[0]) || parts[2] != "HTTP/1.1" {
		return q, fmt.Errorf("the first line %q", line)
	}
	q.method = parts[0]
	q.path, q.query, _ = strings.Cut(parts[1], "?")
	if !strictPath(q.path) {
		return q, fmt.Errorf("the target %q is no origin form", parts[1])
	}
	if strings.ContainsAny(q.query, "#\x7f") {
		return q, fmt.Errorf("the query of %q", parts[1])
	}
	q.fields = map[string][]string{}
	for {
		line, err := strictLine(r)
		if err != nil {
			return q, errors.Join(errors.New("the fields do not end"), err)
		}
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || !strictToken(name) {
			return q, fmt.Errorf("the field %q", line)
		}
		name = strings.ToLower(name)
		q.fields[name] = append(q.fields[name], strings.Trim(value, " \t"))
	}
	if hosts := q.fields["host"]; len(hosts) != 1 || !strictHost(hosts[0]) {
		return q, fmt.Errorf("the hosts %q", hosts)
	}
	q.host = q.fields["host"][0]
	return q, q.readBody(r)
}

// readBody reads a body that has one way of framing.
func (q *strictRequest) readBody(r *bufio.Reader) error {
	lengths, codings := q.fields["content-length"], q.fields["transfer-encoding"]
	switch {
	case len(lengths)+len(codings) == 0:
		q.whole = true
		return nil
	case len(lengths)+len(codings) > 1, len(codings) == 1 && codings[0] != "chunked":
		return fmt.Errorf("the framing by %q and %q", lengths, codings)
	case len(lengths) == 1:
		n, err := strictNumber(lengths[0], 10)
		if err != nil {
			return err
		}
		return q.take(r, n)
	}
	for {
		line, err := strictLine(r)
		if err != nil {
			return nil // the body was cut
		}
		n, err := strictNumber(line, 16)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		if err := q.take(r, n); err != nil || !q.whole {
			return err
		}
		q.whole = false
		if line, err = strictLine(r); err != nil {
			return nil
		} else if line != "" {
			return fmt.Errorf("%q behind a chunk", line)
		}
	}
	for {
		line, err := strictLine(r)
		if err != nil {
			return nil
		}
		if line == "" {
			q.whole = true
			return nil
		}
		if name, _, ok := strings.Cut(line, ":"); !ok || !strictToken(name) {
			return fmt.Errorf("the trailer %q", line)
		}
	}
}

func (q *strictRequest) take(r io.Reader, n int) error {
	var part bytes.Buffer
	took, _ := io.CopyN(&part, r, int64(n))
	q.body += part.String()
	q.whole = took == int64(n)
	return nil
}

func strictNumber(text string, base int) (int, error) {
	n, err := strconv.ParseUint(text, base, 31)
	if err != nil || text == "" || strings.Trim(strings.ToLower(text), "0123456789abcdef") != "" {
		return 0, fmt.Errorf("the number %q", text)
	}
	return int(n), nil
}

// strictLine reads a line that ends with CR LF and has no other control character.
func strictLine(r *bufio.Reader) (string, error) {
	text, err := r.ReadString('\n')
	if err != nil {
		if text == "" {
			return "", io.EOF
		}
		return "", io.ErrUnexpectedEOF
	}
	line, ok := strings.CutSuffix(text, "\r\n")
	for i := range len(line) {
		if c := line[i]; c < ' ' && c != '\t' || c == 0x7f {
			ok = false
		}
	}
	if !ok {
		return "", fmt.Errorf("the line %q", text)
	}
	return line, nil
}

func strictToken(text string) bool {
	return text != "" && strings.Trim(text, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// strictPath reports whether a text is an absolute path (RFC 3986 section 3.3). Brackets,
// which browsers do not escape either, may be in it.
func strictPath(text string) bool {
	if !strings.HasPrefix(text, "/") {
		return false
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '%':
			if i+2 >= len(text) || strings.Trim(text[i+1:i+3], "0123456789abcdefABCDEF") != "" {
				return false
			}
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("/-._~!$&'()*+,;=:@[]", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// strictHost reports whether a text is a host with or without a port.
func strictHost(text string) bool {
	if rest, ok := strings.CutPrefix(text, "["); ok {
		inside, rest, _ := strings.Cut(rest, "]")
		address, err := netip.ParseAddr(inside)
		return err == nil && address.Is6() && address.Zone() == "" && (rest == "" || rest[0] == ':' && strings.Trim(rest[1:], "0123456789") == "")
	}
	name, port, _ := strings.Cut(text, ":")
	return name != "" && strings.Trim(port, "0123456789") == "" &&
		strings.Trim(name, "-._~!$&'()*+,;=0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// bareHost is a host in lower case without its port and a dot at its end.
func bareHost(text string) string {
	text = strings.ToLower(text)
	if rest, ok := strings.CutPrefix(text, "["); ok {
		inside, _, _ := strings.Cut(rest, "]")
		return inside
	}
	name, _, _ := strings.Cut(text, ":")
	return strings.TrimSuffix(name, ".")
}
