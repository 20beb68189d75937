;; A filter for Envoy that is called for each request and does nothing. It refuses the
;; configuration that has 3 bytes.
;; continue.wasm is this file through wasm-as.
(module
  (memory (export "memory") 1)
  (func (export "proxy_abi_version_0_2_1"))
  (func (export "malloc") (param i32) (result i32) (i32.const 1024))
  (func (export "proxy_on_configure") (param i32 i32) (result i32)
    (i32.ne (local.get 1) (i32.const 3)))
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
    (i32.const 0)))
