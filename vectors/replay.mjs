// Replays the conformance vectors on the wasm module in any JavaScript engine:
// no imports, no Node, no DOM. The format is described in doc.go.

const stride = 32;
const recordSize = 48;

// The slots of ../wasm/ABI.md.
const slot = { exact: 0, size: 4, count: 8, records: 12, buffer: 16, now: 24, span: 32, call: 56, generation: 60, keys: 120, priced: 188, costs: 200, spent: 264, used: 268, applies: 272, decides: 276 };

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  take(n) {
    if (n > this.bytes.length - this.at) throw new Error("cut off");
    this.at += n;
    return this.bytes.subarray(this.at - n, this.at);
  }
  u8() {
    return this.take(1)[0];
  }
  u32() {
    const [a, b, c, d] = this.take(4);
    return (a | (b << 8) | (c << 16) | (d << 24)) >>> 0;
  }
  varint() {
    let n = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const b = this.u8();
      n |= BigInt(b & 127) << shift;
      if (b < 128) return n;
    }
  }
  count() {
    return Number(this.varint());
  }
  signed() {
    const n = this.varint();
    return (n >> 1n) ^ -(n & 1n);
  }
  text() {
    return this.take(this.count());
  }
}

export class Difference extends Error {
  constructor(suite, from, to) {
    super(`${suite}: steps ${from} to ${to} came to other bytes`);
    this.suite = suite;
    this.from = from;
    this.to = to;
  }
}

/** Player is an instance with a digest. flip, for tests of this file, may change what a step left. */
class Player {
  constructor(exports, flip, reader) {
    this.x = exports;
    this.flip = flip;
    this.reader = reader;
    this.steps = 0;
    this.slots = exports.slots();
    this.hash = 2166136261;
    this.views();
  }
  views() {
    if (this.memory === this.x.memory.buffer) return;
    this.memory = this.x.memory.buffer;
    this.bytes = new Uint8Array(this.memory);
    this.data = new DataView(this.memory);
  }
  word(offset) {
    this.views();
    return this.data.getUint32(this.slots + offset, true);
  }
  left() {
    const at = this.word(slot.buffer);
    return this.bytes.subarray(at, at + this.word(slot.size));
  }
  call(name, ...parameters) {
    const code = this.x[name](...parameters);
    this.views();
    if (code < 0) throw new Error(`${name}: ${code}: ${new TextDecoder().decode(this.left())}`);
    return code;
  }
  write(bytes) {
    this.call("buffer", bytes.length);
    this.bytes.set(bytes, this.word(slot.buffer));
  }
  /** compile compiles a policy: in a module without the reader of documents, its plan bytes. */
  compile(body) {
    if (!this.reader) {
      this.write(body);
      const plan = this.call("body", body.length);
      return { plan, steps: this.count(plan) };
    }
    const { plan } = this.reader.compile(body);
    this.reader.call("encode", plan);
    const bytes = this.reader.left();
    this.write(bytes);
    return { plan: this.call("compile", bytes.length), steps: bytes[2] };
  }
  count(plan) {
    let steps = 0;
    while (this.call("describe", plan, steps) > 0) steps++;
    return steps;
  }
  add(bytes) {
    let h = this.hash;
    for (let i = 0; i < bytes.length; i++) h = Math.imul(h ^ bytes[i], 16777619);
    this.hash = h;
  }
  addWord(v) {
    this.add([v & 255, (v >> 8) & 255, (v >> 16) & 255, (v >> 24) & 255]);
  }
  flipped(bytes) {
    this.flip?.(this.steps, bytes);
    this.steps++;
    return bytes;
  }
}

// The flags of steps, then the flags of events.
const [hasCost, hasOutcome, hasRef, hasPermit, hasBefore, hasValue, hasDeadline, hasPriority] = [1, 2, 4, 8, 16, 32, 64, 128];
const [hasSpan, hasKey, hasAttempt, noHedge, lacksKey, hasSet, hasUsed] = [4, 8, 16, 32, 64, 128, 128];
const [advance, begin, done, cancel, renew, configure, join] = [0, 1, 2, 3, 4, 5, 6];

/** Steps plays the steps of a cell. */
class Steps {
  constructor(p, s) {
    this.p = p;
    this.r = new Reader(s.steps);
    this.maker = p.call("maker", p.compile(s.policies[0]).plan, s.step);
    this.seen = [];
    this.mark = 0n;
    this.state = new Uint8Array(0);
  }
  take(n) {
    const { p, r, seen } = this;
    const kind = r.u8();
    const flags = r.u8();
    this.mark += r.signed();
    const input = new Uint8Array(48 + this.state.length);
    const view = new DataView(input.buffer);
    view.setBigInt64(0, this.mark, true);
    input[8] = kind;
    view.setUint32(12, flags & hasCost ? r.count() : 1, true);
    if (flags & hasOutcome) input[9] = r.u8();
    view.setUint32(24, n, true);
    if (flags & hasRef) input.set(seen[seen.length - r.count()], 16);
    if (flags & hasPermit) input.set(r.take(24), 16);
    if (flags & hasBefore) view.setBigInt64(32, this.mark - r.varint(), true);
    if (flags & hasValue) view.setBigUint64(40, r.varint(), true);
    if (flags & hasDeadline) {
      input[11] = 1;
      view.setBigInt64(32, this.mark + r.signed(), true);
    }
    if (flags & hasPriority) input[10] = r.u8();
    input.set(this.state, 48);
    p.write(input);
    p.call("reduce", this.maker, input.length);
    const left = p.flipped(p.left());
    const out = new Reader(left);
    this.state = out.take(out.u32()).slice();
    const answer = out.take(32);
    const [admit, wait, grant] = [2, 4, 1];
    if (answer[0] === admit || answer[0] === wait) seen.push(answer.slice(8));
    for (let others = out.u32(); others > 0; others--) {
      const other = out.take(40);
      if (other[0] === grant) seen.push(other.slice(16));
    }
    p.add(left);
  }
  close() {}
}

/** Events plays the events of pipelines, of which those behind the first one are joined to it. */
class Events {
  constructor(p, s) {
    this.p = p;
    this.s = s;
    this.r = new Reader(s.steps);
    this.plans = s.policies.map((body) => p.compile(body));
    if (this.plans.length <= s.joined) throw new Error("there is no such policy");
    this.pipelines = [{ plan: 0, handle: p.call("pipeline", this.plans[0].plan, s.seedLow, s.seedHigh) }];
    for (let n = 1; n <= s.joined; n++) {
      this.pipelines.push({ plan: n, handle: 0 });
      this.join(n, 0);
    }
    if (s.joined > 0) p.call("observe", this.pipelines[0].handle, 1);
    this.calls = [];
    this.mark = 0n;
  }
  /** join makes pipeline n, beside another one. */
  join(n, beside) {
    const { p, s, pipelines } = this;
    const of = pipelines[n];
    of.handle = p.call("join", pipelines[beside].handle, this.plans[of.plan].plan, (s.seedLow + n) >>> 0, s.seedHigh);
  }
  /** says puts what the attributes of a set say about a policy into the slots. */
  says(set, plan) {
    const { p } = this;
    const { applies, decides, priced, costs } = this.s.sets[set].says[plan];
    p.data.setUint32(p.slots + slot.applies, applies, true);
    p.data.setUint32(p.slots + slot.decides, decides, true);
    p.data.setUint32(p.slots + slot.priced, priced, true);
    for (let i = 0, n = 0; i < 16; i++) if (priced & (1 << i)) p.data.setUint32(p.slots + slot.costs + 4 * i, costs[n++], true);
  }
  take(n) {
    const { p, r, calls, pipelines } = this;
    const op = r.u8();
    const flags = r.u8();
    this.mark += r.signed();
    const number = this.s.joined > 0 ? r.u8() : 0;
    const of = pipelines[number];
    const cost = flags & hasCost ? r.count() : 1;
    const outcome = flags & hasOutcome ? r.u8() : 0;
    p.views();
    p.data.setBigInt64(p.slots + slot.now, this.mark, true);
    p.data.setUint32(p.slots + slot.exact, flags & hasSpan ? 3 : 1, true);
    if (flags & hasSpan) p.data.setBigInt64(p.slots + slot.span, r.signed(), true);
    const key = (flags & hasKey ? r.u8() : 0) | (flags & lacksKey ? 1 << 31 : 0);
    const attempt = flags & hasAttempt ? r.u8() : 0;
    if (op === begin && flags & hasSet) this.says(r.count(), of.plan);
    if (op === done && flags & hasUsed) {
      p.data.setUint32(p.slots + slot.spent, 1, true);
      p.data.setUint32(p.slots + slot.used, r.count(), true);
    }
    for (let i = 0; i < 16; i++) p.data.setUint32(p.slots + slot.keys + 4 * i, key, true);
    const ref = op >= done ? r.count() : 0;
    const call = op >= done && op < configure ? calls[calls.length - ref] : [];
    let code;
    if (op === advance) code = p.x.advance(of.handle, NaN);
    else if (op === begin) {
      code = p.x.begin(of.handle, cost, flags & noHedge ? 1 : 0, NaN, NaN);
      calls.push([p.word(slot.call), p.word(slot.generation)]);
    } else if (op === done) code = p.x.done(of.handle, ...call, attempt, outcome, NaN, NaN);
    else if (op === cancel) code = p.x.cancel(of.handle, ...call, NaN);
    else if (op === renew) code = p.x.renew(of.handle, ...call, attempt, NaN);
    else if (op === configure) {
      of.plan = ref;
      code = p.x.configure(of.handle, this.plans[ref].plan, NaN);
    } else if (op === join) {
      code = p.x.free(of.handle);
      of.plan = ref;
      this.join(number, (number + 1) % pipelines.length);
    }
    const stale = -6;
    const count = op === join ? 0 : p.word(slot.count);
    if (code < 0 && code !== stale) throw new Error(`event ${n}: ${code}: ${new TextDecoder().decode(p.left())}`);
    const records = count > 0 ? p.word(slot.records) : 0;
    p.addWord(code);
    p.add(p.flipped(p.bytes.subarray(records, records + recordSize * count)));
  }
  /** close adds the states of all cells to the digest. */
  close() {
    const { p } = this;
    for (const { plan, handle } of this.pipelines) {
      for (let step = 0; step < this.plans[plan].steps; step++) {
        for (let key = 0; key < 4; key++) {
          p.addWord(p.call("save", handle, step, key));
          p.add(p.left());
        }
      }
    }
  }
}

/** setOf reads attributes and what they say about so many policies. */
function setOf(r, policies) {
  const attributes = new TextDecoder().decode(r.text());
  const says = [];
  for (let k = 0; k < policies; k++) {
    const [applies, decides, priced] = [r.u32(), r.u32(), r.count()];
    const costs = [];
    for (let i = 0; i < 16; i++) if (priced & (1 << i)) costs.push(r.count());
    says.push({ applies, decides, priced, costs });
  }
  return { attributes: attributes ? attributes.split("\0") : [], says };
}

/** decode reads an unzipped file. */
export function decode(bytes) {
  const r = new Reader(bytes);
  if (new TextDecoder().decode(r.take(8)) !== "SLUICEV1") throw new Error("not a file of vectors");
  const suites = [];
  for (let n = r.u32(); n > 0; n--) {
    const s = { name: new TextDecoder().decode(r.text()), policies: [], sets: [], digests: [] };
    for (let k = r.count(); k > 0; k--) s.policies.push(r.text());
    s.pipeline = r.u8() === 1;
    s.step = r.u8();
    s.joined = s.pipeline ? s.step : 0;
    s.seedLow = r.u32();
    s.seedHigh = r.u32();
    for (let k = r.count(); k > 0; k--) s.sets.push(setOf(r, s.policies.length));
    s.count = r.count();
    s.steps = r.text();
    for (let k = 0; k < s.count; k += stride) s.digests.push(r.u32());
    suites.push(s);
  }
  return suites;
}

function instance(module, flip, reader) {
  const { exports } = typeof module === "function" ? module() : new WebAssembly.Instance(module, {});
  exports._initialize();
  return new Player(exports, flip, reader);
}

/**
 * replay plays all suites on a compiled module, or on what a function makes instances of, and returns how many
 * steps there were. It throws a Difference where the module comes to other bytes. A module without
 * the reader of documents needs one with it as the reader.
 */
export function replay(suites, module, flip, reader) {
  let steps = 0;
  for (const s of suites) {
    const p = instance(module, flip, reader && instance(reader));
    const player = s.pipeline ? new Events(p, s) : new Steps(p, s);
    for (let n = 0; n < s.count; n++) {
      player.take(n);
      if ((n + 1) % stride !== 0 && n + 1 !== s.count) continue;
      player.close();
      const from = n - (n % stride);
      if (p.hash >>> 0 !== s.digests[from / stride]) throw new Difference(s.name, from, n + 1);
    }
    steps += s.count;
  }
  return steps;
}
