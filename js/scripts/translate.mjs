// The core as JavaScript, by wasm2js of binaryen: for runtimes that have or allow no WebAssembly.

import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const { resolve } = createRequire(import.meta.url);
const FEATURES = ['--mvp-features', '--enable-bulk-memory', '--enable-sign-ext', '--enable-mutable-globals'];

const run = (tool, ...args) =>
  execFileSync(process.execPath, [resolve(`binaryen/bin/${tool}`), ...FEATURES, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });

/** Replaces what has to be there once: another release of binaryen may write other code. */
function replaced(text, what, by) {
  const parts = text.split(what);
  if (parts.length !== 2) throw new Error(`wasm2js: found ${what} ${parts.length - 1} times; expected once`);
  return parts.join(by);
}

/**
 * A saturating conversion as a function, because wasm2js knows only those that trap. Beyond the least and the
 * greatest integer it gives these, for NaN it gives 0.
 */
function saturated(to, from, sign) {
  const bits = BigInt(to.slice(1));
  const [least, end] = sign === 's' ? [-(2n ** (bits - 1n)), 2n ** (bits - 1n)] : [0n, 2n ** bits];
  return `(func $${to}_${from}_${sign} (param $x ${from}) (result ${to}) (local $whole f64)
    (local.set $whole (f64.trunc ${from === 'f32' ? '(f64.promote_f32 (local.get $x))' : '(local.get $x)'}))
    (if (result ${to})
      (i32.and (f64.ge (local.get $whole) (f64.const ${least})) (f64.lt (local.get $whole) (f64.const ${end})))
      (then (${to}.trunc_f64_${sign} (local.get $whole)))
      (else (select
        (${to}.const ${end - 1n})
        (select (${to}.const ${least}) (${to}.const 0) (f64.lt (local.get $whole) (f64.const 0)))
        (f64.gt (local.get $whole) (f64.const 0))))))`;
}

const SATURATED = ['i32', 'i64'].flatMap((to) =>
  ['f32', 'f64'].flatMap((from) => ['s', 'u'].map((sign) => saturated(to, from, sign))),
);

/** A module in the text format, without what wasm2js does not know. What is not used is left out later. */
const lowered = (text) =>
  text
    .replace(/\((i32|i64)\.trunc_sat_(f32|f64)_([su])\b/g, '(call $$$1_$2_$3')
    .replace(/\)\s*$/, `${SATURATED.join('\n')})`);

/** The bytes of the data segments, as one text with its address. */
function dataOf(js) {
  const parts = [...js.matchAll(/base64DecodeToExistingUint8Array\(bufferView, (\d+), "([^"]*)"\)/g)].map(
    ([, at, text]) => ({ at: Number(at), bytes: Buffer.from(text, 'base64') }),
  );
  const from = Math.min(...parts.map(({ at }) => at));
  const bytes = Buffer.alloc(Math.max(...parts.map(({ at, bytes }) => at + bytes.length)) - from);
  for (const part of parts) part.bytes.copy(bytes, part.at - from);
  return { from, bytes };
}

/**
 * Its memory is a buffer, which another one replaces when it grows. Where there is no room for that, the
 * program is told so, as by WebAssembly.
 */
const GROW = `function __wasm_memory_grow(pages) {
    var before = HEAPU8, size = __wasm_memory_size();
    try {
      buffer = new ArrayBuffer(size + pages << 16);
    } catch {
      return -1;
    }
    VIEWS
    HEAPU8.set(before);
    bufferView = HEAPU8;
    for (var renew of renewals) renew();
    return size;
  }`;

/** What is exported as the memory: it calls functions when its buffer is another one. */
const MEMORY = `{ get buffer() { return buffer; }, onGrow(renew) { renewals.push(renew); } }`;

/**
 * Translates a module. Returns the source of an ES module that exports `instantiate`, which makes instances with the
 * shape of WebAssembly's. `dataCode` gets the bytes of the memory at the beginning and returns an expression for them.
 */
export async function translate(module, dataCode) {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-wasm2js-'));
  try {
    const [text, js] = [join(folder, 'core.wat'), join(folder, 'core.js')];
    run('wasm-dis', '--enable-nontrapping-float-to-int', module, '-o', text);
    await writeFile(text, lowered(await readFile(text, 'utf8')));
    run('wasm2js', '-Oz', '--emscripten', text, '-o', js);
    return glued(await readFile(js, 'utf8'), dataCode);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function glued(js, dataCode) {
  const { from, bytes } = dataOf(js);
  const views = js.match(/^ var HEAP.*;$/gm).map((view) => view.replace('var', '').trim());
  let code = replaced(
    js,
    /\n {2}var base64ReverseLookup[\s\S]*?(?=function initActiveSegments)/,
    '\nvar renewals = [];\n',
  );
  code = replaced(
    code,
    /(?<=function initActiveSegments\(imports\) \{)[\s\S]*?(?=\n\})/,
    `\nbufferView.set(${dataCode(bytes)}, ${from});`,
  );
  code = replaced(
    code,
    /function __wasm_memory_grow[\s\S]*?return oldPages;\n \}/,
    GROW.replace('VIEWS', views.join(' ')),
  );
  code = replaced(code, /(?<="memory": )Object\.create\([\s\S]*?\n {2}\}\)(?=,)/, MEMORY);
  code = replaced(code, "new Error('abort')", "new Error('@sluice/core: the core was stopped')");
  code = replaced(code, 'return asmFunc(info)', 'return { exports: asmFunc() }');
  return `export ${replaced(code, 'function instantiate(info)', 'function instantiate()')}`;
}
