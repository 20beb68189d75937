package host_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/proxywasm/host"
)

// TestWASI calls each function of WASI from a guest, which refuses its
// configuration when the result is another one. Fault is an address that is not
// in its memory.
func TestWASI(t *testing.T) {
	t.Parallel()
	const fault = 65536
	for _, test := range []struct {
		name, signature string
		args            []int64
		want            int32
	}{
		{"fd_read", "iiii:i", []int64{0, 0, 0, 0}, 52},
		{"fd_seek", "iIii:i", []int64{0, 0, 0, 0}, 0},
		{"fd_close", "i:i", []int64{0}, 0},
		{"fd_write", "iiii:i", []int64{3, 0, 0, 8}, 8},
		{"fd_write", "iiii:i", []int64{1, fault, 1, 8}, 21},
		{"fd_write", "iiii:i", []int64{1, 0, 0, fault}, 21},
		{"fd_write", "iiii:i", []int64{1, 0, 0, 8}, 0},
		{"fd_pwrite", "iiiIi:i", []int64{2, 0, 0, 0, 8}, 0},
		{"fd_fdstat_get", "ii:i", []int64{1, 8}, 0},
		{"fd_fdstat_get", "ii:i", []int64{3, 8}, 8},
		{"fd_fdstat_set_flags", "ii:i", []int64{1, 0}, 52},
		{"fd_prestat_get", "ii:i", []int64{3, 0}, 8},
		{"fd_prestat_dir_name", "iii:i", []int64{3, 0, 0}, 52},
		{"path_open", "iiiiiIIii:i", []int64{3, 0, 0, 0, 0, 0, 0, 0, 0}, 44},
		{"args_get", "ii:i", []int64{0, 0}, 0},
		{"args_sizes_get", "ii:i", []int64{8, 12}, 0},
		{"args_sizes_get", "ii:i", []int64{8, fault}, 21},
		{"environ_get", "ii:i", []int64{8, fault}, 21},
		{"environ_sizes_get", "ii:i", []int64{fault, 8}, 21},
		{"clock_time_get", "iIi:i", []int64{2, 0, 8}, 58},
		{"clock_time_get", "iIi:i", []int64{1, 0, fault}, 21},
		{"clock_res_get", "ii:i", []int64{1, 8}, 0},
		{"clock_res_get", "ii:i", []int64{2, 8}, 58},
		{"random_get", "ii:i", []int64{0, 65536}, 0},
		{"random_get", "ii:i", []int64{0, 65537}, 28},
		{"random_get", "ii:i", []int64{8, 65536}, 21},
		{"sched_yield", ":i", nil, 0},
		{"poll_oneoff", "iiii:i", []int64{0, 0, 1, 8}, 0},
		{"poll_oneoff", "iiii:i", []int64{0, 0, 1, fault}, 21},
		{"fd_allocate", "iII:i", []int64{1, 0, 0}, 0},
		{"fd_sync", "i:i", []int64{3}, 8},
		{"fd_renumber", "ii:i", []int64{1, 2}, 58},
		{"fd_renumber", "ii:i", []int64{1, 3}, 8},
		{"fd_tell", "ii:i", []int64{2, 8}, 0},
		{"fd_tell", "ii:i", []int64{3, 8}, 8},
		{"fd_readdir", "iiiIi:i", []int64{3, 0, 0, 0, 8}, 20},
		{"path_readlink", "iiiiii:i", []int64{3, 0, 0, 0, 0, 8}, 58},
		{"sock_accept", "iii:i", []int64{3, 0, 8}, 58},
	} {
		body := []byte{}
		for i, arg := range test.args {
			if test.signature[i] == 'I' {
				body = append(append(body, 0x42), signed(arg)...)
			} else {
				body = append(body, constant(int32(arg))...)
			}
		}
		equal := slices.Concat(body, callOf(0), constant(test.want), []byte{0x46})
		module := encode([]importOf{{"wasi_snapshot_preview1", test.name, test.signature}}, abi021, malloc,
			function{export: "proxy_on_configure", signature: "ii:i", body: equal})
		code, err := host.Compile(module, host.Envoy140)
		require.NoError(t, err)
		p := host.NewProcess(host.Config{})
		_, err = p.Load(host.Plugin{VM: host.VM{Code: code, Environment: map[string]string{"A": "b"}}})
		assert.NoError(t, err, "%s %v", test.name, test.args)
		p.Close()
		require.NoError(t, code.Close())
	}
}

// What proc_exit and the helpers of other compilers do: nothing.
func TestHelpers(t *testing.T) {
	t.Parallel()
	imports := []importOf{
		{"wasi_snapshot_preview1", "proc_exit", "i:"}, {"env", "emscripten_notify_memory_growth", "i:"},
		{"env", "pthread_equal", "ii:i"}, {"env", "envoy_resolve_dns", "iii:i"},
	}
	body := slices.Concat(constant(1), callOf(0), constant(0), callOf(1), constant(5), constant(5), callOf(2),
		constant(0), constant(0), constant(8), callOf(3), constant(12), []byte{0x46, 0x71})
	_, err := loadModule(t, encode(imports, abi021, malloc, function{export: "proxy_on_configure", signature: "ii:i", body: body}), host.Envoy140)
	assert.NoError(t, err)
}

// A host call with an address outside of the memory is INVALID_MEMORY_ACCESS.
func TestInvalidMemory(t *testing.T) {
	t.Parallel()
	const fault = 65536
	for _, test := range []struct {
		name, signature string
		args            []int32
	}{
		{"proxy_log", "iii:i", []int32{2, fault, 1}},
		{"proxy_get_log_level", "i:i", []int32{fault}},
		{"proxy_get_status", "iii:i", []int32{fault, 0, 0}},
		{"proxy_get_property", "iiii:i", []int32{fault, 1, 0, 0}},
		{"proxy_set_property", "iiii:i", []int32{fault, 1, 0, 0}},
		{"proxy_set_header_map_pairs", "iii:i", []int32{0, fault, 1}},
		{"proxy_get_header_map_value", "iiiii:i", []int32{0, fault, 1, 0, 0}},
		{"proxy_get_header_map_pairs", "iii:i", []int32{0, fault, 0}},
		{"proxy_remove_header_map_value", "iii:i", []int32{0, fault, 1}},
		{"proxy_get_buffer_status", "iii:i", []int32{7, fault, 0}},
		{"proxy_set_buffer_bytes", "iiiii:i", []int32{0, 0, 0, fault, 1}},
		{"proxy_send_local_response", "iiiiiiii:i", []int32{200, fault, 1, 0, 0, 0, 0, -1}},
		{"proxy_http_call", "iiiiiiiiii:i", []int32{0, 0, 0, 0, 0, 0, 0, 0, 0, fault}},
		{"proxy_grpc_call", "iiiiiiiiiiii:i", []int32{0, 0, 0, 0, 0, 0, fault, 1, 0, 0, 0, 0}},
		{"proxy_grpc_call", "iiiiiiiiiiii:i", []int32{0, 0, 0, 0, 0, 0, 0, 0, fault, 1, 0, 0}},
		{"proxy_grpc_send", "iiii:i", []int32{6, fault, 1, 0}},
		{"proxy_get_shared_data", "iiiii:i", []int32{fault, 1, 0, 0, 0}},
		{"proxy_set_shared_data", "iiiii:i", []int32{0, 0, fault, 1, 0}},
		{"proxy_register_shared_queue", "iii:i", []int32{fault, 1, 0}},
		{"proxy_register_shared_queue", "iii:i", []int32{0, 0, fault}},
		{"proxy_resolve_shared_queue", "iiiii:i", []int32{0, 0, fault, 1, 0}},
		{"proxy_enqueue_shared_queue", "iii:i", []int32{1, fault, 1}},
		{"proxy_define_metric", "iiii:i", []int32{0, fault, 1, 0}},
		{"proxy_define_metric", "iiii:i", []int32{0, 0, 0, fault}},
		{"proxy_get_current_time_nanoseconds", "i:i", []int32{fault}},
		{"proxy_call_foreign_function", "iiiiii:i", []int32{fault, 1, 0, 0, 0, 0}},
	} {
		var body []byte
		for _, arg := range test.args {
			body = append(body, constant(arg)...)
		}
		body = slices.Concat(body, callOf(0), constant(6), []byte{0x46})
		module := encode([]importOf{{"env", test.name, test.signature}}, abi021, malloc, function{export: "proxy_on_configure", signature: "ii:i", body: body})
		_, err := loadModule(t, module, host.Envoy140)
		assert.NoError(t, err, "%s %v", test.name, test.args)
	}
}
