// SHA-256 (FIPS 180-4) and HMAC (RFC 2104). The WebCrypto of runtimes has only asynchronous ones, and no call waits for a trace.

const primes = (count: number): number[] => {
  const found: number[] = [];
  for (let n = 2; found.length < count; n++) if (found.every((p) => n % p)) found.push(n);
  return found;
};

/** The first 32 bits of the fraction of a root. */
const fraction = (root: number): number => ((root - Math.floor(root)) * 2 ** 32) | 0;

const FIRST = primes(8).map((p) => fraction(Math.sqrt(p)));
const ROUNDS = primes(64).map((p) => fraction(Math.cbrt(p)));

const turn = (x: number, by: number): number => (x >>> by) | (x << (32 - by));

/** The hash of bytes. */
export function sha256(bytes: Uint8Array): Uint8Array {
  const padded = new Uint8Array((((bytes.length + 8) >> 6) << 6) + 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, bytes.length << 3);
  const state = [...FIRST];
  const w = new Int32Array(64);
  for (let at = 0; at < padded.length; at += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getInt32(at + 4 * i);
    for (let i = 16; i < 64; i++) {
      const a = w[i - 15] as number;
      const b = w[i - 2] as number;
      const low = turn(a, 7) ^ turn(a, 18) ^ (a >>> 3);
      const high = turn(b, 17) ^ turn(b, 19) ^ (b >>> 10);
      w[i] = ((w[i - 16] as number) + low + (w[i - 7] as number) + high) | 0;
    }
    let [a, b, c, d, e, f, g, h] = state as [number, number, number, number, number, number, number, number];
    for (let i = 0; i < 64; i++) {
      const s1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
      const one = (h + s1 + ((e & f) ^ (~e & g)) + (ROUNDS[i] as number) + (w[i] as number)) | 0;
      const s0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
      const two = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((x, i) => {
      state[i] = ((state[i] as number) + x) | 0;
    });
  }
  const hash = new Uint8Array(32);
  const out = new DataView(hash.buffer);
  for (const [i, x] of state.entries()) out.setInt32(4 * i, x);
  return hash;
}

/** The HMAC of bytes with a key of at most 64 bytes. */
export function hmac(key: Uint8Array, bytes: Uint8Array): Uint8Array {
  const padded = (by: number, rest: Uint8Array): Uint8Array => {
    const all = new Uint8Array(64 + rest.length).fill(by, 0, 64);
    key.forEach((x, i) => {
      all[i] = x ^ by;
    });
    all.set(rest, 64);
    return all;
  };
  return sha256(padded(0x5c, sha256(padded(0x36, bytes))));
}
