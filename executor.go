package sluice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/sluice-go/sluice/internal/runner"
	"github.com/sluice-go/sluice/reducer"
)

// DefaultPutWait is how long Executor.Go and Queue.Put wait for room.
const DefaultPutWait = 100 * time.Millisecond

// maxJobs is the greatest number of jobs that run or wait.
const maxJobs = math.MaxInt32

// ErrShutdown is the error of a job that a shutdown or Drop dropped, the cause with which a
// shutdown ends the contexts of running jobs, and the error of a job that comes after it.
var ErrShutdown = errors.New("sluice: shut down")

// ErrExited is the error of a job whose function called runtime.Goexit.
var ErrExited = errors.New("sluice: the function called runtime.Goexit")

// PanicError is the error of a job whose function panicked.
type PanicError struct {
	Value any
	Stack []byte
}

// Error implements error.
func (e *PanicError) Error() string { return fmt.Sprintf("sluice: panic: %v", e.Value) }

// ExecutorConfig says how many jobs an Executor has at once.
type ExecutorConfig struct {
	// Concurrent is how many jobs run at once, those that wait at a step of the policy
	// included, at most 2^31 - 1. Default 0: DefaultConcurrent.
	Concurrent int
	// Queue is how many more jobs wait for their start, oldest first, at most 2^31 - 1.
	// Default 0: none.
	Queue int
	// Wait is how long Go waits for room where all places are taken. Default 0:
	// DefaultPutWait. A negative one waits as long as the context of Go.
	Wait time.Duration
	// OnDone is called after each job, on the goroutine of the job or of what dropped it,
	// with no lock held and before another job starts in its place. Join waits for it, so it
	// must not call Join or Shutdown. A panic of it, OnEmpty or OnIdle ends the process, as
	// on any goroutine. nil for no call.
	OnDone func(*Job)
	// OnEmpty is called when the last waiting job has started or was dropped, OnIdle when
	// no job waits or runs any more. More jobs may have come meanwhile. nil for no call.
	OnEmpty, OnIdle func()
}

// Executor runs functions as jobs on goroutines of their own, each guarded by a pipeline,
// and keeps count of them. It is safe for concurrent use. It has no goroutine while no
// job runs. NewExecutor makes one; a zero Executor refuses every job.
type Executor struct {
	pipeline *Pipeline
	config   ExecutorConfig
	room     chan struct{} // a value for each job that runs or waits
	closed   chan struct{} // closed by Shutdown

	mu      sync.Mutex
	shut    bool
	numbers uint64
	waiting []*Job
	running map[uint64]*Job
	busy    int           // jobs that run, or are over and whose OnDone has not returned
	ending  int           // dropped jobs whose OnDone has not returned
	idle    chan struct{} // closed when there is no job, nil while Join does not wait
	counts  ExecutorCounts
}

// NewExecutor makes an executor without jobs. The error is Pipeline.Err, or says which
// field is out of range.
func NewExecutor(p *Pipeline, c ExecutorConfig) (*Executor, error) {
	e := &Executor{}
	if err := e.init(p, c); err != nil {
		return nil, err
	}
	return e, nil
}

// init makes a zero executor one of the configuration.
func (e *Executor) init(p *Pipeline, c ExecutorConfig) error {
	if err := p.Err(); err != nil {
		return err
	}
	switch {
	case c.Concurrent < 0:
		return fmt.Errorf("sluice: Concurrent is %d; allowed: 1 or more, 0 for %d", c.Concurrent, DefaultConcurrent)
	case c.Queue < 0:
		return fmt.Errorf("sluice: Queue is %d; allowed: 0 or more", c.Queue)
	case c.Concurrent > maxJobs:
		return fmt.Errorf("sluice: Concurrent is %d; allowed: at most %d", c.Concurrent, maxJobs)
	case c.Queue > maxJobs:
		return fmt.Errorf("sluice: Queue is %d; allowed: at most %d", c.Queue, maxJobs)
	case c.Concurrent == 0:
		c.Concurrent = DefaultConcurrent
	}
	if c.Wait == 0 {
		c.Wait = DefaultPutWait
	}
	e.pipeline, e.config, e.running = p, c, map[uint64]*Job{}
	e.room, e.closed = make(chan struct{}, c.Concurrent+c.Queue), make(chan struct{})
	return nil
}

// JobState is where a job is.
type JobState uint8

// The states of a job.
const (
	JobWaiting JobState = iota // for its start
	JobRunning                 // its call has begun; it may wait at a step of the policy
	JobDone                    // it succeeded or failed
	JobDropped                 // it was dropped before its start
)

var jobStates = [...]string{"waiting", "running", "done", "dropped"}

// String returns the state as a word.
func (s JobState) String() string {
	if int(s) < len(jobStates) {
		return jobStates[s]
	}
	return fmt.Sprintf("JobState(%d)", uint8(s))
}

// Job is a function that an Executor runs.
type Job struct {
	id      uint64
	item    any // of a Queue
	request Request
	fn      func(context.Context) error
	ctx     context.Context // before put the parent, nil for the context of the caller
	cancel  context.CancelCauseFunc
	done    chan struct{}
	owner   *Executor
	state   JobState  // guarded by the executor, as started
	started time.Time // zero before
	err     error     // set before done is closed
}

// ID returns the number of the job at its executor, from 1 on.
func (j *Job) ID() uint64 { return j.id }

// State returns where the job is.
func (j *Job) State() JobState {
	j.owner.mu.Lock()
	defer j.owner.mu.Unlock()
	return j.state
}

// Started returns when the job started, zero for one that has not.
func (j *Job) Started() time.Time {
	j.owner.mu.Lock()
	defer j.owner.mu.Unlock()
	return j.started
}

// Done returns a channel that is closed when the job is over.
func (j *Job) Done() <-chan struct{} { return j.done }

// Err returns the error of a job that is over, nil for a success and before the end: the error
// of the call, a PanicError, ErrExited or ErrShutdown.
func (j *Job) Err() error {
	select {
	case <-j.done:
		return j.err
	default:
		return nil
	}
}

// Cancel ends the context of the job. One that waits for its start ends when its turn
// comes.
func (j *Job) Cancel() { j.cancel(nil) }

// Wait waits for the end of the job and returns its error, or the error of the context.
func (j *Job) Wait(ctx context.Context) error {
	select {
	case <-j.done:
		return j.err
	case <-ctx.Done():
		return runner.Cancelled(ctx, nil)
	}
}

// Go starts fn as a job, or puts it in the queue. Where there is no room it waits for as
// long as ExecutorConfig.Wait says. ctx bounds this wait, and it is the context of the
// job, so that its end cancels the job; context.WithoutCancel separates the two. The error
// is a RejectedError of the step "executor" with ReasonFull, ErrShutdown, or the error of the
// context.
func (e *Executor) Go(ctx context.Context, q Request, fn func(context.Context) error) (*Job, error) {
	return e.put(ctx, e.config.Wait, "executor", &Job{request: q, fn: fn})
}

// TryGo is Go without a wait for room.
func (e *Executor) TryGo(ctx context.Context, q Request, fn func(context.Context) error) (*Job, error) {
	return e.put(ctx, 0, "executor", &Job{request: q, fn: fn})
}

// Task is a Job with a value.
type Task[T any] struct {
	*Job
	value T
}

// Wait waits for the end of the job and returns its result, or the error of the context.
func (t *Task[T]) Wait(ctx context.Context) (T, error) {
	err := t.Job.Wait(ctx)
	select {
	case <-t.done:
		return t.value, err
	default:
		var zero T
		return zero, err
	}
}

// Submit is Executor.Go for a function with a value.
func Submit[T any](ctx context.Context, e *Executor, q Request, fn func(context.Context) (T, error)) (*Task[T], error) {
	t := &Task[T]{}
	job, err := e.Go(ctx, q, func(ctx context.Context) (err error) {
		t.value, err = fn(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	t.Job = job
	return t, nil
}

// put starts a job, or puts it in the queue, and waits for room: not at all for 0, as long
// as the context for less.
func (e *Executor) put(ctx context.Context, wait time.Duration, step string, j *Job) (*Job, error) {
	switch {
	case e.pipeline == nil:
		return nil, errZeroExecutor
	case ctx.Err() != nil:
		return nil, runner.Cancelled(ctx, nil)
	}
	select {
	case <-e.closed:
		return nil, ErrShutdown
	case e.room <- struct{}{}:
	default:
		if err := e.await(ctx, wait, step); err != nil {
			return nil, err
		}
	}
	j.owner, j.done = e, make(chan struct{})
	if j.ctx == nil {
		j.ctx = ctx
	}
	j.ctx, j.cancel = context.WithCancelCause(j.ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.shut {
		<-e.room
		j.cancel(ErrShutdown)
		return nil, ErrShutdown
	}
	e.numbers++
	j.id = e.numbers
	if e.busy < e.config.Concurrent {
		e.start(j)
	} else {
		e.waiting = append(e.waiting, j)
	}
	return j, nil
}

// await waits until there is room, and takes it.
func (e *Executor) await(ctx context.Context, wait time.Duration, step string) error {
	full := &RejectedError{Policy: e.pipeline.Name(), Step: step, Reason: reducer.ReasonFull, RetryAfter: -1}
	if wait == 0 {
		return full
	}
	var over <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case e.room <- struct{}{}:
		return nil
	case <-e.closed:
		return ErrShutdown
	case <-ctx.Done():
		return runner.Cancelled(ctx, nil)
	case <-over:
		full.Waited = true
		return full
	}
}

// start starts a job. The caller holds the mutex.
func (e *Executor) start(j *Job) {
	j.state, j.started = JobRunning, time.Now()
	e.running[j.id] = j
	e.busy++
	go j.run()
}

func (j *Job) run() {
	err := ErrExited
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{value, debug.Stack()}
		}
		j.owner.ended(j, err)
	}()
	err = RunWith(j.ctx, j.owner.pipeline, j.request, j.fn)
}

// ended ends a job that ran, and starts the next one.
func (e *Executor) ended(j *Job, err error) {
	e.mu.Lock()
	delete(e.running, j.id)
	e.counts.Done++
	if err != nil {
		e.counts.Failed++
	}
	e.end(j, JobDone, err)
	e.mu.Unlock()
	e.announce(j)
	e.mu.Lock()
	e.busy--
	empty := len(e.waiting) == 1
	if len(e.waiting) > 0 {
		next := e.waiting[0]
		e.waiting[0] = nil
		e.waiting = e.waiting[1:]
		e.start(next)
	}
	idle := e.wakeIdle()
	e.mu.Unlock()
	e.call(empty, idle)
}

// end ends a job and frees its room. The caller holds the mutex, and calls announce.
func (e *Executor) end(j *Job, s JobState, err error) {
	j.state, j.err = s, err
	close(j.done)
	<-e.room
}

// announce calls OnDone for a job that is over.
func (e *Executor) announce(j *Job) {
	j.cancel(j.err)
	if e.config.OnDone != nil {
		e.config.OnDone(j)
	}
}

// call calls OnEmpty and OnIdle.
func (e *Executor) call(empty, idle bool) {
	if empty && e.config.OnEmpty != nil {
		e.config.OnEmpty()
	}
	if idle && e.config.OnIdle != nil {
		e.config.OnIdle()
	}
}

// rests reports whether there is no job. The caller holds the mutex.
func (e *Executor) rests() bool { return e.busy == 0 && e.ending == 0 }

// wakeIdle reports whether there is no job, and wakes Join. The caller holds the mutex.
func (e *Executor) wakeIdle() bool {
	if !e.rests() {
		return false
	}
	if e.idle != nil {
		close(e.idle)
		e.idle = nil
	}
	return true
}

// Drop drops the jobs that wait for their start, with ErrShutdown, and returns how many
// there were. Running jobs go on.
func (e *Executor) Drop() int { return len(e.drop()) }

func (e *Executor) drop() []*Job {
	e.mu.Lock()
	dropped := e.waiting
	e.waiting = nil
	e.counts.Dropped += uint64(len(dropped))
	e.ending += len(dropped)
	for _, j := range dropped {
		e.end(j, JobDropped, ErrShutdown)
	}
	e.mu.Unlock()
	if len(dropped) == 0 {
		return nil
	}
	for _, j := range dropped {
		e.announce(j)
	}
	e.mu.Lock()
	e.ending -= len(dropped)
	idle := e.wakeIdle()
	e.mu.Unlock()
	e.call(true, idle)
	return dropped
}

// Join waits until no job waits or runs, and returns nil, or the error of the context.
func (e *Executor) Join(ctx context.Context) error {
	e.mu.Lock()
	if e.rests() {
		e.mu.Unlock()
		return nil
	}
	if e.idle == nil {
		e.idle = make(chan struct{})
	}
	idle := e.idle
	e.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-idle:
		return nil
	default:
		return runner.Cancelled(ctx, nil)
	}
}

// Shutdown refuses new jobs and waits until all others are over. When the context is over
// first, it drops those that wait, ends the contexts of those that run with ErrShutdown as
// their cause, and returns the error of the context without waiting for them; Join does
// that. It may be called more than once.
func (e *Executor) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	if !e.shut && e.closed != nil {
		e.shut = true
		close(e.closed)
	}
	e.mu.Unlock()
	err := e.Join(ctx)
	if err == nil {
		return nil
	}
	e.drop()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, j := range e.running {
		j.cancel(ErrShutdown)
	}
	return err
}

// ExecutorCounts are the jobs of an Executor: how many wait and run now, and how many are
// over so far.
type ExecutorCounts struct {
	Waiting, Running int
	Done             uint64 // those that failed included
	Failed           uint64
	Dropped          uint64
}

// Counts returns the counts at this moment.
func (e *Executor) Counts() ExecutorCounts {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.counts
	c.Waiting, c.Running = len(e.waiting), len(e.running)
	return c
}

// Jobs returns the jobs that run or wait, oldest first.
func (e *Executor) Jobs() []*Job {
	e.mu.Lock()
	defer e.mu.Unlock()
	jobs := make([]*Job, 0, len(e.running)+len(e.waiting))
	for _, j := range e.running {
		jobs = append(jobs, j)
	}
	slices.SortFunc(jobs, func(a, b *Job) int { return cmp.Compare(a.id, b.id) })
	return append(jobs, e.waiting...)
}
