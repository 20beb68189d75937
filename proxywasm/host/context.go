package host

import "time"

// wasmContext is a context of a VM: the VM's own, a root context (one for each
// plugin) or the context of a stream.
type wasmContext struct {
	vm      *vm // nil for a stream that no VM handles
	id      uint32
	root    *wasmContext // itself for a root
	plugin  *Plugin
	stream  *Stream // nil for a root
	created bool    // the guest knows it
	// configuring says that the plugin's configuration can be read.
	configuring bool

	// Of a root alone.
	period        time.Duration // of its ticks, 0 for none
	calls         []*HTTPCall
	grpcCalls     []*GRPCCall
	answer        *httpAnswer // while its callback runs
	metadata      *Headers    // of a gRPC answer, while its callback runs
	trailers      *Headers    // likewise
	message       *[]byte     // likewise
	status        uint32
	statusMessage string
}

// rootContext makes a root and tells the guest, as WasmBase::start does.
func (v *vm) rootContext(plugin *Plugin) (*wasmContext, bool) {
	key := plugin.key()
	c := v.roots[key]
	if c == nil {
		c = v.newContext(&wasmContext{plugin: plugin})
		c.root = c
		v.roots[key] = c
	}
	c.configuring = true
	if v.has("proxy_on_context_create") {
		v.invoke(c, "proxy_on_context_create", uint64(c.id), 0)
	}
	c.configuring = false
	c.created = true
	started := true
	if v.alive() && v.has("proxy_on_vm_start") {
		started = v.invoke(c, "proxy_on_vm_start", uint64(c.id), uint64(len(plugin.VM.Config))) != 0
	}
	v.afterCall()
	return c, started
}

// configure runs proxy_on_configure. A dead VM answers true, as in Envoy.
func (c *wasmContext) configure() bool {
	if !c.vm.alive() || !c.vm.has("proxy_on_configure") {
		return true
	}
	c.configuring = true
	ok := c.vm.invoke(c, "proxy_on_configure", uint64(c.id), uint64(len(c.plugin.Config))) != 0
	c.configuring = false
	c.vm.afterCall()
	return ok
}

// notify runs a callback without a result, when the guest has it.
func (c *wasmContext) notify(export string, args ...uint64) {
	if c.vm.alive() && c.vm.has(export) {
		c.vm.invoke(c, export, append([]uint64{uint64(c.id)}, args...)...)
		c.vm.afterCall()
	}
}

// create tells the guest about the context of a stream, once.
func (c *wasmContext) create() {
	if !c.created {
		c.created = true
		if c.vm != nil {
			c.notify("proxy_on_context_create", uint64(c.root.id))
		}
	}
}

// done runs proxy_on_done; false keeps a root until proxy_done.
func (c *wasmContext) done() bool {
	if !c.vm.alive() || !c.vm.has("proxy_on_done") {
		return true
	}
	result := c.vm.invoke(c, "proxy_on_done", uint64(c.id)) != 0
	c.vm.afterCall()
	return result
}

// remove runs proxy_on_delete and forgets the context.
func (c *wasmContext) remove() {
	if c.created {
		c.notify("proxy_on_delete")
	}
	c.cancelCalls()
	delete(c.vm.contexts, c.id)
}

// shutdown ends the root of a plugin, as WasmBase::startShutdown does.
func (v *vm) shutdown(key string) {
	root := v.roots[key]
	if root == nil {
		return
	}
	if root.done() {
		root.remove()
	} else {
		v.closing[key] = root
	}
	delete(v.roots, key)
}

// finishShutdown is proxy_done of a root.
func (v *vm) finishShutdown(root *wasmContext) Status {
	if root.plugin == nil {
		return NotFound
	}
	key := root.plugin.key()
	closing := v.closing[key]
	if closing == nil {
		return NotFound
	}
	delete(v.closing, key)
	v.after = append(v.after, closing.remove)
	return OK
}
