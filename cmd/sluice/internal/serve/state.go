package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/wholefile"
	"github.com/sluice-go/sluice/internal/filewatch"
	"github.com/sluice-go/sluice/policy"
)

// State says where what the policies know outlives the process.
type State struct {
	// File is written at the end and each Every, and read at the start. Empty: none.
	File string
	// Every is the time between two writes. 0 means DefaultStateEvery.
	Every time.Duration
	// Most is the greatest size of the file. 0 means DefaultStateMost.
	Most int64
}

const (
	// DefaultStateEvery is how much of the past a process that is killed loses.
	DefaultStateEvery = time.Minute
	// DefaultStateMost holds the limits of some million keys.
	DefaultStateMost = 256 << 20
)

// A file of states is stateMagic, the version, the policies, each with its name, the digest
// of its settings and its snapshot behind their lengths, and the digest of all of that.
const (
	stateMagic   = "sluice state\n"
	stateVersion = 1
)

// keeper writes and reads the file of the states. A nil one does nothing.
type keeper struct {
	set   *sluice.Set
	state State
	log   *slog.Logger
	// foreign says that the file is one that could neither be used nor moved: it is not
	// written.
	foreign bool

	results *prometheus.CounterVec
	size    prometheus.Gauge
}

func newKeeper(set *sluice.Set, state State, log *slog.Logger, registry *prometheus.Registry) *keeper {
	if state.File == "" {
		return nil
	}
	if state.Every == 0 {
		state.Every = DefaultStateEvery
	}
	if state.Most == 0 {
		state.Most = DefaultStateMost
	}
	k := &keeper{
		set: set, state: state, log: log,
		results: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "sluice", Name: "state_writes_total",
			Help: "Writes of the state file, by result: written, failed."}, []string{"result"}),
		size: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "sluice", Name: "state_bytes",
			Help: "Size of the state file at its last write."}),
	}
	k.results.WithLabelValues("written")
	k.results.WithLabelValues("failed")
	registry.MustRegister(k.results, k.size)
	return k
}

// run writes the file at the start, so that a folder that cannot be written is told then,
// and each Every until the context ends.
func (k *keeper) run(ctx context.Context) {
	if k == nil {
		return
	}
	ticker := time.NewTicker(k.state.Every)
	defer ticker.Stop()
	for {
		k.write()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// write replaces the file in one step. What does not fit is left out, and told.
func (k *keeper) write() {
	if k == nil || k.foreign {
		return
	}
	text, left := k.encode()
	if len(left) > 0 {
		k.log.Error("the state of policies does not fit into the state file and is left out", "state", k.state.File, "policies",
			strings.Join(left, ", "), "most", k.state.Most)
	}
	err := wholefile.WriteDurable(k.state.File, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		k.results.WithLabelValues("failed").Inc()
		k.log.Error("the state is not written; the last one stays", "state", k.state.File, "error", err)
		return
	}
	k.results.WithLabelValues("written").Inc()
	k.size.Set(float64(len(text)))
}

// encode returns the text of the file, and the policies that do not fit into it.
func (k *keeper) encode() (text []byte, left []string) {
	text = append([]byte(stateMagic), stateVersion)
	document := k.set.Document()
	for i := range document.Policies {
		policy := &document.Policies[i]
		p, err := k.set.Lookup(policy.Name)
		if err != nil {
			continue // gone since
		}
		before, settings := len(text), digestOf(policy)
		text = appendSized(appendSized(appendSized(text, []byte(policy.Name)), settings[:]), p.Snapshot())
		if int64(len(text)+sha256.Size) > k.state.Most {
			text, left = text[:before], append(left, policy.Name)
		}
	}
	sum := sha256.Sum256(text)
	return append(text, sum[:]...), left
}

// digestOf returns the digest of the settings of a policy.
func digestOf(p *policy.Policy) [sha256.Size]byte { return sha256.Sum256(policy.BodyJSON(p.Policy)) }

func appendSized(text, part []byte) []byte {
	return append(binary.AppendUvarint(text, uint64(len(part))), part...)
}

// kept is the state of a policy in a file.
type kept struct {
	name     string
	settings [sha256.Size]byte // the digest of its settings
	snapshot []byte
}

// stateError says why a file is not used.
type stateError string

func (e stateError) Error() string { return string(e) }

const (
	errForeign   = stateError("it is no state file")
	errOlder     = stateError("it is of another version of the format")
	errBroken    = stateError("it is broken: its digest is that of other bytes")
	errUnrelated = stateError("it has the state of other policies")
	errLarge     = stateError("it is larger than --state-max-bytes")
)

// decodeState reads a file whole, or nothing of it.
func decodeState(text []byte) (list []kept, err error) {
	rest, ok := bytes.CutPrefix(text, []byte(stateMagic))
	switch {
	case !ok:
		return nil, errForeign
	case len(rest) < 1+sha256.Size:
		return nil, errBroken
	}
	body, sum := text[:len(text)-sha256.Size], text[len(text)-sha256.Size:]
	if want := sha256.Sum256(body); !bytes.Equal(want[:], sum) {
		return nil, errBroken
	}
	if rest[0] != stateVersion {
		return nil, errOlder
	}
	for rest = rest[1 : len(rest)-sha256.Size]; len(rest) > 0; {
		var parts [3][]byte
		for i := range parts {
			if parts[i], rest, ok = cutSized(rest); !ok {
				return nil, errBroken
			}
		}
		one := kept{name: string(parts[0]), snapshot: parts[2]}
		if copy(one.settings[:], parts[1]) != len(parts[1]) {
			return nil, errBroken
		}
		list = append(list, one)
	}
	return list, nil
}

func cutSized(text []byte) (part, rest []byte, ok bool) {
	n, size := binary.Uvarint(text)
	if size <= 0 || n > uint64(len(text)-size) {
		return nil, nil, false
	}
	return text[size : size+int(n)], text[size+int(n):], true
}

// load takes the states of the file over, or tells why not and moves it aside. again is the
// active document once more.
func (k *keeper) load(again *sluice.Set) {
	if k == nil {
		return
	}
	text, err := readState(k.state.File, k.state.Most)
	if errors.Is(err, fs.ErrNotExist) {
		k.log.Info("there is no state file; the policies begin anew", "state", k.state.File)
		return
	}
	var changed []string
	if err == nil {
		changed, err = k.restore(text, again)
	}
	if err != nil {
		k.refuse(err)
		return
	}
	k.log.Info("the state is taken over", "state", k.state.File)
	if len(changed) > 0 {
		k.log.Warn("policies are not those that the state is of: their steps that have another name or other settings begin anew",
			"state", k.state.File, "policies", strings.Join(changed, ", "))
	}
}

// readState reads a file of at most so many bytes.
func readState(name string, most int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, filewatch.Bare(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		err = errLarge
	}
	return text, filewatch.Bare(err)
}

// restore takes over all of a file that the document has policies for, or nothing: the
// document once more tries all of it first. It returns the policies of which the document or
// the file has other settings, or none.
func (k *keeper) restore(text []byte, again *sluice.Set) (changed []string, err error) {
	list, err := decodeState(text)
	if err != nil {
		return nil, err
	}
	var found []kept
	names, policies := map[string]bool{}, k.set.Document().Policies
	for _, one := range list {
		names[one.name] = true
		i := slices.IndexFunc(policies, func(p policy.Policy) bool { return p.Name == one.name })
		if i >= 0 {
			found = append(found, one)
		}
		if i < 0 || digestOf(&policies[i]) != one.settings {
			changed = append(changed, one.name)
		}
	}
	for i := range policies {
		if name := policies[i].Name; !names[name] {
			changed = append(changed, name)
		}
	}
	if len(list) > 0 && len(found) == 0 {
		return nil, errUnrelated
	}
	for _, set := range []*sluice.Set{again, k.set} {
		for _, one := range found {
			if err := set.Pipeline(one.name).Restore(one.snapshot); err != nil {
				return nil, fmt.Errorf("the policy %s: %w", one.name, err)
			}
		}
	}
	return changed, nil
}

// refuse tells that the file is not used, and moves it aside, so that the next write does
// not replace it.
func (k *keeper) refuse(why error) {
	aside := k.state.File + ".refused-" + time.Now().UTC().Format("20060102T150405.000Z")
	err := os.Rename(k.state.File, aside)
	if err == nil {
		k.log.Error("the state file is not used; the policies begin anew", "state", k.state.File, "error", why, "kept_as", aside)
		return
	}
	k.foreign = true
	k.log.Error("the state file is not used and cannot be moved aside; no state is written", "state", k.state.File, "error", why,
		"rename", filewatch.Bare(err))
}
