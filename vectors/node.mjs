// node vectors/node.mjs [FLIP]: replays the vectors on ../wasm/sluice.wasm in
// Node, or on the module that SLUICE_WASM names, which may lack the reader, or may be its translation to JavaScript
// (js/dist/translated.js). FLIP is a step at which one bit of each suite flips, which has to be found.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import { decode, Difference, replay } from "./replay.mjs";

const file = (path) => readFileSync(new URL(path, import.meta.url));
const suites = decode(gunzipSync(file("v1.bin.gz")));
const whole = new WebAssembly.Module(file("../wasm/sluice.wasm"));
const path = process.env.SLUICE_WASM;
let module = whole;
if (path?.endsWith(".js")) module = (await import(pathToFileURL(resolve(path)))).instantiate;
else if (path) module = new WebAssembly.Module(readFileSync(path));
const reads = typeof module !== "function" && WebAssembly.Module.exports(module).some(({ name }) => name === "body");
const reader = reads ? undefined : whole;
if (process.argv.length > 2) {
  const at = Number(process.argv[2]);
  for (const s of suites.filter((s) => s.count > at)) {
    let found = false;
    try {
      replay([s], module, (n, left) => {
        if (n === at && left.length > 0) left[n % left.length] ^= 4;
        else if (n === at) found = true; // nothing was left that could flip
      }, reader);
    } catch (e) {
      found = e instanceof Difference ? at >= e.from && at < e.to : true;
    }
    if (!found) throw new Error(`${s.name}: a bit that flips at step ${at} is not found`);
  }
  console.log(`a bit that flips at step ${at} is found`);
} else {
  const start = performance.now();
  console.log(`${replay(suites, module, undefined, reader)} steps in ${suites.length} suites are equal, ${Math.round(performance.now() - start)} ms`);
}
