package envoy

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// object is a message of Envoy's configuration in its JSON form.
type object = map[string]any

// Config is what an Envoy serves: one listener for HTTP/1.1 and HTTP/2 without TLS.
type Config struct {
	// Upstream is the address to which requests go. Empty: every request is answered by
	// Envoy itself with 200 and the body ok.
	Upstream string
	// Routes come before the route of all other requests.
	Routes []Route
	// Filters come before the router.
	Filters []Filter
	// Static has the listener in the bootstrap, where a filter that is refused ends Envoy.
	// Push needs a listener that is not.
	Static bool
	// TrustedHops is how many proxies in front of this Envoy each add an address to
	// X-Forwarded-For.
	TrustedHops int
	// KeepForwarded leaves X-Forwarded-For as it came. Else Envoy adds the peer's address,
	// for a peer on loopback one of its machine, whatever that is.
	KeepForwarded bool
	// Details has Envoy log a line for each request: its path and status, the response
	// flags, and the details of the response code.
	Details bool
}

// Route is a route by path prefix.
type Route struct {
	Name, Prefix string
	// Direct requests are answered as without an upstream.
	Direct bool
	// Policy is the metadata policy of the namespace sluice; empty for none.
	Policy string
}

// Filter is a filter of HTTP requests.
type Filter struct {
	name   string
	config object
	// Discovered filters reach Envoy by a file of their own (ECDS): a push that changes
	// only such filters keeps the listener and its connections.
	Discovered bool
}

// FailurePolicy says what Envoy does when the VM of a filter has failed.
type FailurePolicy string

// The failure policies of Envoy. The empty one is Envoy's default, FailClosed.
const (
	FailReload FailurePolicy = "FAIL_RELOAD"
	FailClosed FailurePolicy = "FAIL_CLOSED"
	FailOpen   FailurePolicy = "FAIL_OPEN"
)

// Wasm is a filter in a module.
type Wasm struct {
	Name string
	// Module is the path of the module.
	Module string
	// Configuration is the text of the plugin configuration; Structured gives it as a
	// Struct in place of a StringValue and must be JSON then.
	Configuration string
	Structured    bool
	// VM is the name of the key-value space that VMs share; empty for Name.
	VM         string
	Failure    FailurePolicy
	Discovered bool
}

const types = "type.googleapis.com/"

// Filter returns the filter. A structured configuration must be JSON.
func (w Wasm) Filter() Filter {
	configuration := object{"@type": types + "google.protobuf.StringValue", "value": w.Configuration}
	if w.Structured {
		configuration = object{"@type": types + "google.protobuf.Struct", "value": json.RawMessage(w.Configuration)}
	}
	vm := w.VM
	if vm == "" {
		vm = w.Name
	}
	plugin := object{
		"name": w.Name, "root_id": w.Name, "configuration": configuration,
		"vm_config": object{"vm_id": vm, "runtime": "envoy.wasm.runtime.v8", "code": object{"local": object{"filename": w.Module}}},
	}
	if w.Failure != "" {
		plugin["failure_policy"] = w.Failure
	}
	if w.Failure == FailReload {
		plugin["reload_config"] = object{"backoff": object{"base_interval": "0.1s"}}
	}
	return Filter{w.Name, object{"@type": types + "envoy.extensions.filters.http.wasm.v3.Wasm", "config": plugin}, w.Discovered}
}

// LocalRateLimit returns Envoy's own token bucket, which all workers share: count permits
// every interval, of which at most burst are kept.
func LocalRateLimit(burst, count int, interval time.Duration) Filter {
	all := object{"default_value": object{"numerator": 100, "denominator": "HUNDRED"}}
	return Filter{name: "envoy.filters.http.local_ratelimit", config: object{
		"@type": types + "envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit", "stat_prefix": "native",
		"token_bucket":   object{"max_tokens": burst, "tokens_per_fill": count, "fill_interval": seconds(interval)},
		"filter_enabled": all, "filter_enforced": all,
	}}
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s" }

// files are the names of the watched files below the folder of an Envoy.
const (
	listenerFile = "listener.json"
	clusterFile  = "cluster.json"
)

// write writes the watched files of a configuration, and the bootstrap, and returns the
// path of the latter.
func (c *Config) write(dir string) (file string, err error) {
	var filters []object
	for _, f := range c.Filters {
		filter := object{"name": f.name, "typed_config": f.config}
		if f.Discovered {
			file := filepath.Join(dir, f.name+".json")
			filter = object{"name": f.name, "config_discovery": object{
				"config_source": watched(file), "type_urls": []any{f.config["@type"]},
			}}
			if err := replace(file, resources(object{"@type": types + "envoy.config.core.v3.TypedExtensionConfig", "name": f.name, "typed_config": f.config})); err != nil {
				return "", err
			}
		}
		filters = append(filters, filter)
	}
	filters = append(filters, object{"name": "router", "typed_config": object{"@type": types + "envoy.extensions.filters.http.router.v3.Router"}})
	clusters, err := c.clusters()
	if err != nil {
		return "", err
	}
	file = filepath.Join(dir, "bootstrap.json")
	boot := object{"node": object{"id": "test", "cluster": "test"}, "admin": object{"address": address("127.0.0.1", 0)}}
	if c.Static {
		listener := c.listener(filters)
		delete(listener, "@type")
		for _, cluster := range clusters {
			delete(cluster, "@type")
		}
		boot["static_resources"] = object{"listeners": []object{listener}, "clusters": clusters}
		return file, replace(file, boot)
	}
	boot["dynamic_resources"] = object{
		"lds_config": watched(filepath.Join(dir, listenerFile)), "cds_config": watched(filepath.Join(dir, clusterFile)),
	}
	return file, errors.Join(
		replace(filepath.Join(dir, clusterFile), resources(clusters...)),
		replace(filepath.Join(dir, listenerFile), resources(c.listener(filters))),
		replace(file, boot),
	)
}

func (c *Config) listener(filters []object) object {
	manager := object{
		"@type":       types + "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
		"stat_prefix": "http", "generate_request_id": false,
		"use_remote_address": true, "xff_num_trusted_hops": c.TrustedHops, "skip_xff_append": c.KeepForwarded,
		"route_config": object{"name": "routes", "virtual_hosts": []object{{"name": "all", "domains": []string{"*"}, "routes": c.routes()}}},
		"http_filters": filters,
	}
	if c.Details {
		manager["access_log"] = []object{{"name": "stdout", "typed_config": object{
			"@type":      types + "envoy.extensions.access_loggers.stream.v3.StdoutAccessLog",
			"log_format": object{"text_format_source": object{"inline_string": "DETAILS %PATH% %RESPONSE_CODE% %RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS%\n"}},
		}}}
	}
	return object{
		"@type": types + "envoy.config.listener.v3.Listener", "name": "http",
		"address":       address("127.0.0.1", 0),
		"filter_chains": []object{{"filters": []object{{"name": "http", "typed_config": manager}}}},
	}
}

func (c *Config) routes() []object {
	var list []object
	for _, r := range append(c.Routes[:len(c.Routes):len(c.Routes)], Route{Name: "all", Prefix: "/"}) {
		route := object{"name": r.Name, "match": object{"prefix": r.Prefix}}
		if c.Upstream == "" || r.Direct {
			route["direct_response"] = object{"status": 200, "body": object{"inline_string": "ok"}}
		} else {
			route["route"] = object{"cluster": "upstream", "timeout": "0s"}
		}
		if r.Policy != "" {
			route["metadata"] = object{"filter_metadata": object{"sluice": object{"policy": r.Policy}}}
		}
		list = append(list, route)
	}
	return list
}

// clusters has the upstream, which is spoken to in the protocol of the request.
func (c *Config) clusters() ([]object, error) {
	if c.Upstream == "" {
		return nil, nil
	}
	host, text, err := net.SplitHostPort(c.Upstream)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, err
	}
	const most = 100_000 // more than any test has at once
	return []object{{
		"@type": types + "envoy.config.cluster.v3.Cluster", "name": "upstream", "type": "STATIC", "connect_timeout": "1s",
		"circuit_breakers": object{"thresholds": []object{{"max_connections": most, "max_pending_requests": most, "max_requests": most}}},
		"load_assignment": object{"cluster_name": "upstream", "endpoints": []object{{"lb_endpoints": []object{
			{"endpoint": object{"address": address(host, port)}},
		}}}},
		"typed_extension_protocol_options": object{"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": object{
			"@type":                          types + "envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
			"use_downstream_protocol_config": object{"http_protocol_options": object{}, "http2_protocol_options": object{}},
		}},
	}}, nil
}

func address(host string, port int) object {
	return object{"socket_address": object{"address": host, "port_value": port}}
}

func watched(file string) object {
	return object{"path_config_source": object{"path": file}, "resource_api_version": "V3"}
}

func resources(list ...object) object {
	if list == nil {
		list = []object{}
	}
	return object{"resources": list}
}

// replace puts a file in the place of another in one step, which Envoy watches for. A file
// that stays the same is no update.
func replace(file string, message object) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if old, err := os.ReadFile(file); err == nil && string(old) == string(text) {
		return nil
	}
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
