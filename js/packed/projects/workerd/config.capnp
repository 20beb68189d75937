using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [(name = "default", worker = .default), (name = "js", worker = .js)],
  sockets = [
    (name = "default", address = "127.0.0.1:0", http = (), service = "default"),
    (name = "js", address = "127.0.0.1:0", http = (), service = "js"),
  ],
);

const default :Workerd.Worker = (
  modules = [
    (name = "worker.mjs", esModule = embed "out/worker.js"),
    (name = "core.wasm", wasm = embed "out/core.wasm"),
  ],
  compatibilityDate = "2025-01-01",
);

const js :Workerd.Worker = (
  modules = [(name = "worker-js.mjs", esModule = embed "out/worker-js.js")],
  compatibilityDate = "2025-01-01",
);
