package host

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Plugin is the configuration of an HTTP filter, envoy.filters.http.wasm.
type Plugin struct {
	Name   string
	RootID string
	// Config is what the guest reads as plugin configuration. Envoy takes the text
	// of a StringValue, the bytes of a BytesValue and the JSON of a Struct.
	Config []byte
	VM     VM
	// FailurePolicy says what a stream gets that begins after a trap. Default:
	// FailClosed.
	FailurePolicy FailurePolicy
	// ReloadBackoff is the least time between two starts of a VM with FailReload.
	// Envoy adds up to half of it at random; a Process adds nothing. Default: 1 s.
	ReloadBackoff time.Duration
	// AllowOnHeadersStopIteration leaves PAUSE of a headers callback as it is, so
	// that the body still reaches the guest. Default: PAUSE stops the body too.
	AllowOnHeadersStopIteration bool
}

// VM is the configuration of a VM. Plugins with the same ID, Config and Code share
// the VM of a worker.
type VM struct {
	// ID is the vm_id: the name of the shared data and the queues.
	ID     string
	Config []byte
	Code   *Code
	// Environment is what the guest reads by environ_get.
	Environment map[string]string
}

// FailurePolicy says what happens to new streams of a worker whose VM is dead.
// Streams that a VM had when it trapped get a 503 in any case.
type FailurePolicy int

// The policies of Envoy's FailurePolicy.
const (
	FailClosed FailurePolicy = iota // a 503 for each request
	FailOpen                        // the filter is left out
	FailReload                      // a new VM, at most one each ReloadBackoff; a 503 until then
)

func (v *VM) key() string {
	return strings.Join([]string{v.ID, string(v.Config), v.Code.key}, "||")
}

func (p *Plugin) key() string {
	return strings.Join([]string{p.RootID, string(p.Config), p.Name}, "||")
}

// Filter is a plugin of a process in one configuration. A push of another
// configuration is another Load; the old Filter stays usable, as for the
// connections that Envoy drains, until Drain.
type Filter struct {
	process *Process
	plugin  *Plugin
	base    *baseVM
	workers []*Worker
	main    *Worker
	drained bool
}

// Load does what Envoy does with a new or a changed plugin: it starts a VM for a
// try (the canary, whose end no callback announces), and only when that one
// accepts the configuration, the plugin in the VMs of the main thread and of all
// workers. A VM with the same key that runs already is used again: it gets one
// more root context.
//
// What Envoy refuses is an error: it ends an Envoy that starts, and leaves one that
// runs as it was. The reason that the guest logged is in Logs.
func (p *Process) Load(plugin Plugin) (*Filter, error) {
	if plugin.ReloadBackoff == 0 {
		plugin.ReloadBackoff = time.Second
	}
	f := &Filter{process: p, plugin: &plugin}
	if err := f.load(); err != nil {
		p.log(LogLine{Level: Critical, Thread: Main, Plugin: plugin.Name, Text: "Plugin " + plugin.Name + " failed to load"})
		return nil, fmt.Errorf("host: Unable to create Wasm plugin %s: %w", plugin.Name, err)
	}
	return f, nil
}

func (f *Filter) load() (err error) {
	p := f.process
	if f.base, err = p.baseVM(&f.plugin.VM); err != nil {
		return err
	}
	if err := f.base.try(f.plugin); err != nil {
		f.base.release()
		return err
	}
	f.main = f.start(p.main)
	for _, t := range p.workers {
		f.workers = append(f.workers, f.start(t))
	}
	return nil
}

// start gives a thread the plugin. A thread that refuses it goes on without it.
func (f *Filter) start(t *thread) *Worker {
	w := &Worker{filter: f, thread: t, loaded: f.process.monotonic}
	var err error
	if w.handle, err = f.process.handle(t, f.base, f.plugin); err != nil {
		f.process.log(LogLine{Level: Error, Thread: t.number, Plugin: f.plugin.Name, Text: "Wasm VM failed " + err.Error()})
	}
	return w
}

// Worker returns what a worker thread has of the filter; its number is from 0 to
// Config.Workers-1, or Main.
func (f *Filter) Worker(number int) *Worker {
	if number == Main {
		return f.main
	}
	return f.workers[number]
}

// Drain ends the filter: its root contexts end when their last stream does, by
// proxy_on_done and proxy_on_delete, and a VM with its last root context. The
// shared data of a VM id ends with its last VM.
func (f *Filter) Drain() {
	if f.drained {
		return
	}
	f.drained = true
	for _, w := range append(f.workers, f.main) {
		if w.handle != nil {
			w.handle.release()
		}
	}
	f.base.release()
}

// baseVM is the VM from which the VMs of the threads are cloned. It is initialized
// and never configured.
type baseVM struct {
	process    *Process
	key        string
	vm         *VM
	instance   *vm
	tried      map[string]error // by plugin key
	references int              // filters and VMs
}

func (p *Process) baseVM(config *VM) (*baseVM, error) {
	key := config.key()
	if base := p.bases[key]; base != nil {
		base.references++
		return base, nil
	}
	base := &baseVM{process: p, key: key, vm: config, tried: map[string]error{}, references: 1}
	var err error
	if base.instance, err = newVM(p, p.main, base); err != nil {
		return nil, err
	}
	p.bases[key] = base
	return base, nil
}

// try starts a plugin in a VM of its own.
func (b *baseVM) try(plugin *Plugin) error {
	err, known := b.tried[plugin.key()]
	if !known {
		err = b.canary(plugin)
		b.tried[plugin.key()] = err
	}
	return err
}

func (b *baseVM) canary(plugin *Plugin) error {
	v, err := newVM(b.process, b.process.main, b)
	if err != nil {
		return err
	}
	root, started := v.rootContext(plugin)
	switch {
	case !started:
		err = envoyError("Failed to start base Wasm")
	case !root.configure():
		err = envoyError("Failed to configure base Wasm plugin")
	}
	return errors.Join(err, v.module.Close(v.ctx))
}

func (b *baseVM) release() {
	if b.references--; b.references > 0 {
		return
	}
	b.close()
	delete(b.process.bases, b.key)
	for _, other := range b.process.bases {
		if other.vm.ID == b.vm.ID {
			return
		}
	}
	b.process.forget(b.vm.ID)
}

func (b *baseVM) close() {
	// Closing wazero's instance has no error of its own; the code owns the rest.
	_ = b.instance.module.Close(b.instance.ctx)
}

// handle is a plugin in the VM of a thread. Filters and streams refer to it.
type handle struct {
	key        string
	thread     *thread
	vm         *vm
	root       *wasmContext
	references int
}

// handle finds or starts a plugin in the VM of a thread.
func (p *Process) handle(t *thread, base *baseVM, plugin *Plugin) (*handle, error) {
	key := base.key + "||" + plugin.key()
	if h := t.handles[key]; h != nil {
		h.references++
		return h, nil
	}
	v := t.vms[base.key]
	if v == nil {
		var err error
		if v, err = newVM(p, t, base); err != nil {
			return nil, err
		}
		base.references++
		t.vms[base.key] = v
		p.vms = append(p.vms, v)
	}
	h := &handle{key: key, thread: t, vm: v, references: 1}
	v.references++
	var started bool
	h.root, started = v.rootContext(plugin)
	var err error
	switch {
	case !started:
		err = envoyError("Failed to start thread-local Wasm")
	case !h.root.configure():
		err = envoyError("Failed to configure thread-local Wasm plugin")
	}
	if err != nil {
		if v.references--; v.references == 0 {
			v.close()
		}
		return nil, err
	}
	if v.alive() {
		t.handles[key] = h
	}
	return h, nil
}

func (h *handle) release() {
	if h.references--; h.references > 0 {
		return
	}
	if h.thread.handles[h.key] == h {
		delete(h.thread.handles, h.key)
	}
	h.vm.shutdown(h.root.plugin.key())
	if h.vm.references--; h.vm.references == 0 {
		h.vm.close()
	}
}
