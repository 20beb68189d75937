package host

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Config is what an Envoy is started with.
type Config struct {
	// Workers is the number of worker threads, Envoy's --concurrency. Default: 1.
	Workers int
	// Clusters are the names of the upstream clusters that calls can be made to.
	Clusters []string
	// LogLevel is the lowest level of the lines that are logged, Envoy's
	// --log-level. Default: DefaultLogLevel.
	LogLevel *Level
	// Wall is the time of day at the start. Default: 2026-01-01 00:00 UTC.
	Wall time.Time
	// Monotonic is the monotonic clock at the start. Default: 1 h.
	Monotonic time.Duration
	// ForeignFunctions answer proxy_call_foreign_function by name. Default: none;
	// a name that is not here is NotFound.
	ForeignFunctions map[string]ForeignFunction
}

// DefaultLogLevel is Envoy's.
const DefaultLogLevel = Info

// ForeignFunction is a function of the proxy that is not in the ABI.
type ForeignFunction func(arguments []byte) (result []byte, status Status)

// Process is one Envoy: the threads with their VMs, and what the VMs share. It is
// not safe for concurrent use; Interleave runs callbacks of several workers at
// once.
type Process struct {
	clusters  map[string]bool
	foreign   map[string]ForeignFunction
	level     Level
	main      *thread
	workers   []*thread
	bases     map[string]*baseVM // by VM key
	vms       []*vm              // all but the bases, in the order they started
	logs      []LogLine
	posted    []func()
	scheduler *scheduler

	wall      time.Time
	monotonic time.Duration
	step      time.Duration
	random    *rand.Rand

	data    map[string]map[string]cell // by VM id and key
	cas     uint32
	queues  queues
	metrics metrics
}

// thread is the main thread or a worker of an Envoy.
type thread struct {
	number  int
	vms     map[string]*vm     // by VM key
	handles map[string]*handle // by VM key and plugin key
}

// NewProcess starts an Envoy without any plugin.
func NewProcess(config Config) *Process {
	p := &Process{
		clusters: set(config.Clusters...), foreign: config.ForeignFunctions, level: DefaultLogLevel,
		main: newThread(Main), bases: map[string]*baseVM{},
		wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), monotonic: time.Hour,
		random: rand.New(rand.NewPCG(1, 1)),
		data:   map[string]map[string]cell{}, cas: 1,
		queues:  queues{next: 1, ids: map[queueName]uint32{}, byID: map[uint32]*queue{}},
		metrics: metrics{},
	}
	if config.LogLevel != nil {
		p.level = *config.LogLevel
	}
	if !config.Wall.IsZero() {
		p.wall = config.Wall
	}
	if config.Monotonic != 0 {
		p.monotonic = config.Monotonic
	}
	for number := range max(config.Workers, 1) {
		p.workers = append(p.workers, newThread(number))
	}
	return p
}

func newThread(number int) *thread {
	return &thread{number: number, vms: map[string]*vm{}, handles: map[string]*handle{}}
}

// Close ends the process at once: VMs end without a callback.
func (p *Process) Close() {
	for _, v := range slices.Clone(p.vms) {
		v.close()
	}
	for _, base := range p.bases {
		base.close()
	}
	clear(p.bases)
}

// Workers returns the number of worker threads.
func (p *Process) Workers() int { return len(p.workers) }

// Monotonic returns the monotonic clock: clock_time_get with the id 1. It is one
// for all threads.
func (p *Process) Monotonic() time.Duration { return p.monotonic }

// SetMonotonic sets the monotonic clock and leaves the time of day.
func (p *Process) SetMonotonic(now time.Duration) { p.monotonic = now }

// Wall returns the time of day: proxy_get_current_time_nanoseconds, and
// clock_time_get with the id 0.
func (p *Process) Wall() time.Time { return p.wall }

// SetWall sets the time of day and leaves the monotonic clock.
func (p *Process) SetWall(now time.Time) { p.wall = now }

// Advance moves both clocks. No callback runs: a test decides when a timer fires
// (Worker.Tick).
func (p *Process) Advance(by time.Duration) {
	p.wall = p.wall.Add(by)
	p.monotonic += by
}

// SetClockStep moves both clocks by a step after each time that a guest reads one.
// With it an interleaving finds decisions on a time that was read too early.
// Default: 0, time stands still within a callback.
func (p *Process) SetClockStep(step time.Duration) { p.step = step }

// readClock is a guest's look at the clocks.
func (p *Process) readClock() (wall, monotonic uint64) {
	wall, monotonic = uint64(p.wall.UnixNano()), uint64(p.monotonic)
	p.Advance(p.step)
	return wall, monotonic
}

// SetLogLevel changes the lowest level of the lines that are logged, as Envoy's
// /logging does.
func (p *Process) SetLogLevel(level Level) { p.level = level }

func (p *Process) log(line LogLine) {
	if line.Level >= p.level {
		p.logs = append(p.logs, line)
	}
}

// Logs returns the lines logged so far.
func (p *Process) Logs() []LogLine { return slices.Clone(p.logs) }

// TakeLogs returns the lines logged since the last TakeLogs and forgets them.
func (p *Process) TakeLogs() []LogLine {
	lines := p.logs
	p.logs = nil
	return lines
}

// LogText returns the texts of the lines of a plugin, one a line.
func (p *Process) LogText(plugin string) string {
	var text strings.Builder
	for _, line := range p.logs {
		if line.Plugin == plugin {
			text.WriteString(line.Text + "\n")
		}
	}
	return text.String()
}

// post leaves something for a thread's event loop.
func (p *Process) post(event func()) { p.posted = append(p.posted, event) }

// RunPosted runs what waits for the threads, in the order it came: the
// proxy_on_queue_ready of messages. It returns how many events there were.
func (p *Process) RunPosted() (events int) {
	for ; len(p.posted) > 0; events++ {
		next := p.posted[0]
		p.posted = p.posted[1:]
		next()
	}
	return events
}
