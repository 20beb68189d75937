package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/trace"
)

// recordMark begins a line of a trace in Envoy's log, before the number of the worker.
const recordMark = "sluice: record: "

// envoyTrace prints the trace that the filter with a document has written to a log of Envoy, of
// one worker, or of all where worker is 0.
func (e *Env) envoyTrace(file, log string, worker uint64) error {
	src, err := e.source(file)
	if err != nil {
		return err
	}
	doc, err := policy.Parse(fileOf(file), src)
	if err != nil {
		return e.wrong(err)
	}
	in, err := e.open(log)
	if err != nil {
		return err
	}
	defer in.Close()
	began, lines, err := recorded(in, worker)
	if err != nil {
		return bad("%s: %w", called(log), err)
	}
	var out []byte
	for i := range doc.Policies {
		body := policy.BodyJSON(doc.Policies[i].Policy)
		h := trace.Header{
			Version: trace.Version, Policy: doc.Policies[i].Name, Prefixed: true, Began: began, Seed: 1,
			Digest: trace.Digest(body), Sample: 1, Redact: "secrets", Body: body,
		}
		out = h.Append(out)
	}
	return e.print(append(out, lines...))
}

// recorded returns the wall time of mark 0 and the lines of a trace in a log.
func recorded(log io.Reader, worker uint64) (began time.Time, lines []byte, err error) {
	scanner := bufio.NewScanner(log)
	scanner.Buffer(nil, 1<<20)
	for number := 1; scanner.Scan(); number++ {
		_, rest, found := bytes.Cut(scanner.Bytes(), []byte(recordMark))
		if !found {
			continue
		}
		by, line, _ := strings.Cut(string(rest), " ")
		n, err := strconv.ParseUint(by, 10, 64)
		if err != nil {
			return began, nil, fmt.Errorf("line %d: found the worker %q; allowed a number", number, by)
		}
		if worker != 0 && worker != n {
			continue
		}
		word, value, _ := strings.Cut(line, " ")
		switch word {
		case "began":
			ns, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return began, nil, fmt.Errorf("line %d: found began %q; allowed a number of nanoseconds", number, value)
			}
			began = time.Unix(0, ns).UTC()
		case "lost":
			// The story of those calls is missing altogether.
		default:
			if !strings.HasPrefix(line, "{") {
				return began, nil, fmt.Errorf("line %d: found %q; allowed a line of a trace", number, line)
			}
			lines = append(append(lines, line...), '\n')
		}
	}
	if err := scanner.Err(); err != nil {
		return began, nil, err
	}
	if len(lines) == 0 {
		return began, nil, errors.New("found no line of a trace; allowed a log of Envoy whose filter has proxy: {trace: record}")
	}
	return began, lines, nil
}
