package host_test

import (
	"encoding/binary"
	"fmt"
	"os"

	"github.com/sluice-go/sluice/proxywasm/host"
)

// The filter of the examples does what its configuration says: this one counts
// requests in shared data, and answers those with the header x-block itself.
func Example() {
	module, err := os.ReadFile("testdata/guest.wasm")
	if err != nil {
		fmt.Println(err)
		return
	}
	code, err := host.Compile(module, host.Envoy140)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer code.Close()
	envoy := host.NewProcess(host.Config{Workers: 2})
	defer envoy.Close()
	filter, err := envoy.Load(host.Plugin{
		Name:   "counter",
		Config: []byte("request_headers: count requests\nresponse_headers: add 2 x-seen 1"),
		VM:     host.VM{Code: code},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	stream := filter.Worker(1).Do(host.Get("/orders", "x-tenant", "a"), host.Answer(200))
	fmt.Println(stream.Upstream().Headers.Value("x-tenant"))
	fmt.Println(stream.Response().Status(), stream.Response().Headers.Value("x-seen"))

	before := filter.Worker(0).HostCalls()
	filter.Worker(0).Do(host.Get("/orders"), host.Answer(200))
	fmt.Println(filter.Worker(0).HostCalls().Since(before)["proxy_set_shared_data"])

	value, _, _ := envoy.SharedData("", "requests")
	fmt.Println(binary.LittleEndian.Uint64(value), "requests")
	// Output:
	// a
	// 200 1
	// 1
	// 2 requests
}

// Two workers count at once. Without a compare-and-set one of the two requests is
// lost in some orders.
func ExampleAllSchedules() {
	counted := map[uint64]bool{}
	for schedule := range host.AllSchedules() {
		envoy := host.NewProcess(host.Config{Workers: 2})
		filter, err := envoy.Load(host.Plugin{
			Config: []byte("request_headers: countblind requests"), VM: host.VM{Code: guestCode},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		envoy.Interleave(schedule,
			func() { filter.Worker(0).Do(host.Get("/"), host.Answer(200)) },
			func() { filter.Worker(1).Do(host.Get("/"), host.Answer(200)) })
		value, _, _ := envoy.SharedData("", "requests")
		counted[binary.LittleEndian.Uint64(value)] = true
		envoy.Close()
	}
	fmt.Println(counted)
	// Output: map[1:true 2:true]
}

// A filter holds a request and lets it go on a tick.
func ExampleWorker_Tick() {
	envoy := host.NewProcess(host.Config{})
	defer envoy.Close()
	filter, err := envoy.Load(host.Plugin{
		Config: []byte("configure: period 100\nrequest_headers: pause\ntick: effective stream; resume 0"),
		VM:     host.VM{Code: guestCode},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	stream := filter.Worker(0).Stream(host.StreamOptions{})
	defer stream.Close()
	stream.RequestHeaders(host.Get("/"), host.End)
	fmt.Println(stream.Paused(), filter.Worker(0).TickPeriod())
	filter.Worker(0).Tick()
	fmt.Println(stream.Paused())
	// Output:
	// true 100ms
	// false
}
