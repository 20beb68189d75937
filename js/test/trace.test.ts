import { describe, expect, test, vi } from 'vitest';
import type { Policy, Step } from '../src/index.js';
import { PolicyError, pipeline, policies } from '../src/index.js';
import { evaluate, type VirtualClock, virtualClock } from '../src/testing.js';
import { trace } from '../src/trace.js';
import { hasher, hashes } from '../src/tracing/redact.js';
import { hmac, sha256 } from '../src/tracing/sha256.js';

const SEED = Number(process.env.SLUICE_SEED ?? 1);

/** Numbers from 0 to 1, equal for equal seeds. */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

interface Header {
  readonly seed: string;
  readonly body: Policy;
  readonly policy: string;
  readonly prefixed?: boolean;
  readonly began: string;
  readonly redact: string;
}

/** A trace as its parts. */
function parts(text: string) {
  const lines = text.split('\n').filter(Boolean);
  const all = lines.map(
    (line) => JSON.parse(line) as { trace?: number; op?: string; decision?: string; end?: string },
  );
  const headers = all.filter((one) => one.trace && !one.end) as unknown as Header[];
  return {
    headers,
    events: lines.filter((_, i) => all[i]?.op).join('\n'),
    decisions: lines.filter((_, i) => all[i]?.decision),
    end: all.at(-1),
  };
}

/** Decides the events of a trace again. */
function again(text: string): string[] {
  const { headers, events } = parts(text);
  const [{ seed, body }] = headers as [Header];
  return evaluate(body, events, { seed: BigInt(seed) }).map((line) => JSON.stringify(line));
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** Runs calls under a policy whose functions end in all ways, at random. */
async function drive(
  steps: readonly Step[],
  seed: number,
  clock: VirtualClock,
  other?: readonly Step[],
): Promise<string> {
  const draw = random(seed);
  // The seed of jitter, too.
  const random32 = vi.spyOn(Math, 'random').mockImplementation(draw);
  let text = '';
  const record = trace((lines) => {
    text += lines;
  });
  const calls = pipeline(steps, { clock, trace: record });
  const sleep = (milliseconds: number): Promise<void> =>
    new Promise((resolve) => clock.setTimeout(resolve, milliseconds));
  for (let i = 0; i < 80; i++) {
    const cancel = new AbortController();
    const leaves = draw() < 0.15;
    const settled = calls
      .attempt(
        async ({ used, renew }) => {
          const [time, end] = [Math.floor(draw() * 400), draw()];
          await sleep(time);
          if (draw() < 0.2) renew();
          if (draw() < 0.5) used(Math.floor(draw() * 4));
          if (end < 0.35)
            throw Object.assign(
              new Error('no'),
              draw() < 0.3 && { retryAfter: Math.floor(draw() * 90) - 10 },
            );
        },
        {
          key: ['', 'a', 'b'][Math.floor(draw() * 3)],
          attributes: { 'header:x-n': String(Math.floor(draw() * 4)) },
          cost: 1 + Math.floor(draw() * 2),
          ...(draw() < 0.2 && { deadline: 50 + Math.floor(draw() * 800) }),
          signal: cancel.signal,
        },
      )
      .catch(() => undefined);
    if (leaves) clock.setTimeout(() => cancel.abort(new Error('gone')), Math.floor(draw() * 300));
    void settled;
    if (other && i === 40) calls.configure(other);
    await clock.advance(Math.floor(draw() * 150));
  }
  await clock.advance(100_000);
  record.stop();
  random32.mockRestore();
  return text;
}

const POLICIES: { [name: string]: readonly Step[] } = {
  limit: [{ limit: { rate: '5/1s', wait: '300ms', queue: 3 } }],
  windows: [
    { limit: { rate: '9/2s', algorithm: 'fixed-window', per: 'key' } },
    { limit: { rate: '9/1s', algorithm: 'sliding-counter' } },
  ],
  settle: [{ limit: { rate: '20/1s', charge: 'settle', cost: 'header:x-n' } }, { timeout: '300ms' }],
  retry: [
    { retry: { attempts: 3, backoff: { exponential: '50ms' }, budget: '50%' } },
    { breaker: { window: { time: '1s', buckets: 4 }, minimum: 3, open: '400ms', probes: 1 } },
    { timeout: '200ms' },
  ],
  waits: [{ retry: { attempts: 4, refusals: 'wait', backoff: { constant: '20ms' } } }, { limit: '4/1s' }],
  hedge: [
    { timeout: '700ms' },
    { hedge: { after: '80ms', max: 2 } },
    { bulkhead: { concurrent: 3, queue: 2, lease: '250ms' } },
  ],
  adaptive: [
    { adaptive: { initial: 2, maximum: 4 } },
    { chaos: { fail: '20%', slow: { rate: '20%', by: '30ms' } } },
  ],
  conditions: [
    { limit: { rate: '3/1s', when: { key: 'a' }, block: '500ms' } },
    { bulkhead: { concurrent: 2, queue: 4, wait: '200ms', enforce: { share: '50%', by: 'header:x-n' } } },
  ],
};

describe('trace', () => {
  test.each(Object.keys(POLICIES))(
    'what eval decides of the events is what was decided: %s',
    async (name) => {
      console.log(`seed ${SEED}`);
      for (const [i, start] of [0, 5000.25, 123_456_789].entries()) {
        const text = await drive(POLICIES[name] as Step[], SEED * 100 + i, virtualClock(start));
        const { decisions, end } = parts(text);
        expect(decisions.length).toBeGreaterThan(80);
        expect(again(text)).toEqual(decisions);
        expect(end).toMatchObject({ trace: 1, calls: 80, lost_calls: 0, lost_lines: 0 });
      }
    },
  );

  test('a policy that is replaced', async () => {
    const text = await drive(POLICIES.retry as Step[], SEED, virtualClock(77), POLICIES.waits);
    expect(text).toContain('"op":"configure","policy":{"steps":[{"retry"');
    expect(again(text)).toEqual(parts(text).decisions);
  });

  test('the lines of a call that waits, is retried, and ends', async () => {
    const clock = virtualClock(1000);
    let text = '';
    const calls = pipeline(
      [{ retry: { attempts: 2, backoff: { constant: '100ms' }, jitter: 'none' } }, { timeout: '1s' }],
      {
        clock,
        trace: trace((lines) => {
          text += lines;
        }),
      },
    );
    const result = calls.attempt(({ attempt }) => {
      if (attempt === 1) throw new Error('no');
      return new Promise(() => {});
    });
    await clock.advance(5000);
    expect(await result).toMatchObject({ ok: false, reason: 'timeout' });
    const [header, ...lines] = text.split('\n');
    expect(header).toMatch(
      /^\{"trace":1,"policy":"","began":"1970-01-01T00:00:00Z","seed":"\d+","digest":"[\da-f]{16}","sample":1,"redact":"secrets","body":\{"steps":\[/,
    );
    expect(lines).toEqual([
      '{"at":"0s","op":"call","id":1}',
      '{"at":"0s","id":1,"decision":"admit","attempt":1}',
      '{"at":"0s","op":"done","id":1,"outcome":"fail"}',
      '{"at":"0s","id":1,"decision":"retry","attempt":1,"reason":"fail","until":"100ms"}',
      '{"at":"100ms","op":"tick"}',
      '{"at":"100ms","id":1,"decision":"admit","attempt":2}',
      '{"at":"1.1s","op":"tick"}',
      '{"at":"1.1s","id":1,"decision":"timeout","attempt":2,"step":"timeout"}',
      '{"at":"1.1s","id":1,"decision":"end","outcome":"timeout","attempt":2,"reason":"attempts"}',
      '',
    ]);
  });

  test('a call that ends late, when another one takes its slot', async () => {
    const clock = virtualClock();
    let text = '';
    const calls = pipeline(
      [{ retry: { attempts: 2, backoff: { constant: '100ms' }, jitter: 'none' } }, { timeout: '50ms' }],
      {
        clock: { ...clock, now: () => clock.now(), wall: () => clock.wall(), setTimeout: () => 0 },
        trace: trace((lines) => {
          text += lines;
        }),
      },
    );
    void calls.attempt(() => new Promise(() => {}));
    await clock.advance(1000);
    void calls.attempt(() => new Promise(() => {}));
    expect(parts(text).decisions.slice(1)).toEqual([
      '{"at":"50ms","id":1,"decision":"timeout","attempt":1,"step":"timeout"}',
      '{"at":"50ms","id":1,"decision":"retry","attempt":1,"reason":"timeout","until":"150ms"}',
      '{"at":"150ms","id":1,"decision":"admit","attempt":2}',
      '{"at":"200ms","id":1,"decision":"timeout","attempt":2,"step":"timeout"}',
      '{"at":"200ms","id":1,"decision":"end","outcome":"timeout","attempt":2,"reason":"attempts"}',
      '{"at":"1s","id":2,"decision":"admit","attempt":1}',
    ]);
    expect(again(text)).toEqual(parts(text).decisions);
  });

  test('the policies of a document have one trace, and share a mechanism', async () => {
    const clock = virtualClock();
    let text = '';
    const record = trace(
      (lines) => {
        text += lines;
      },
      { redact: 'none' },
    );
    const both = policies(
      {
        version: 1,
        mechanisms: { vendor: { bulkhead: { concurrent: 1, queue: 1 } } },
        policies: { read: { steps: [{ use: 'vendor' }] }, write: { steps: [{ use: 'vendor' }] } },
      },
      { clock, trace: record },
    );
    let end: () => void = () => {};
    const first = both.read?.execute(
      () =>
        new Promise<void>((resolve) => {
          end = resolve;
        }),
    );
    const second = both.write?.execute(async () => 'second');
    await clock.advance(10);
    end();
    await clock.advance(10);
    await Promise.all([first, second]);
    record.stop();
    const { headers, decisions } = parts(text);
    expect(headers.map(({ policy, prefixed }) => [policy, prefixed])).toEqual([
      ['read', true],
      ['write', true],
    ]);
    expect(decisions).toContain('{"at":"10ms","id":"write/1","decision":"admit","attempt":1}');
    expect(text).toContain('{"at":"0s","op":"call","id":"write/1"}');
  });

  test('secrets are hashed, equal ones to equal hashes', async () => {
    const lines: string[] = [];
    const calls = pipeline([{ limit: { rate: '9/1s', per: ['header:authorization', 'header:x-n'] } }], {
      clock: virtualClock(),
      trace: trace((text) => void lines.push(text), { attributes: ['cookie:id', 'key'] }),
    });
    for (const token of ['Bearer a', 'Bearer b', 'Bearer a']) {
      const attributes = { 'header:authorization': token, 'cookie:id': token, 'header:x-n': 'plain' };
      await calls.execute(async () => {}, { key: 'k', attributes });
    }
    const brought = lines.flatMap((text) => text.split('\n')).filter((line) => line.includes('"op":"call"'));
    const [a, b, c] = brought.map(
      (line) => (JSON.parse(line) as { attributes: Record<string, string> }).attributes,
    );
    expect(a).toEqual(c);
    expect(a?.['header:authorization']).toMatch(/^hash:[\da-f]{16}$/);
    expect(a?.['header:authorization']).not.toBe(b?.['header:authorization']);
    expect(a).toMatchObject({ 'header:x-n': 'plain', 'cookie:id': a?.['header:authorization'] });
    expect(brought[0]).toContain('"key":"k"');
    expect(lines.join('')).not.toContain('Bearer');
  });

  test('which names are secrets', () => {
    const names = [
      'header:Authorization',
      'cookie:x',
      'query:api_key',
      'header:x-token',
      'header:x-tenant',
      'path',
      'key',
    ];
    expect(names.filter((name) => hashes('secrets', name))).toEqual(names.slice(0, 4));
    expect(names.filter((name) => hashes('all', name))).toEqual(names);
    expect(names.filter((name) => hashes('none', name))).toEqual([]);
    expect(hasher()('x')).not.toBe(hasher()('x'));
  });

  test('SHA-256 and HMAC are those of Node', async () => {
    const { createHash, createHmac } = await import('node:crypto');
    for (const size of [0, 1, 55, 56, 63, 64, 65, 1000]) {
      const bytes = Uint8Array.from({ length: size }, (_, i) => i * 7);
      expect(hex(sha256(bytes))).toBe(createHash('sha256').update(bytes).digest('hex'));
      const key = bytes.subarray(0, 32);
      expect(hex(hmac(key, bytes))).toBe(createHmac('sha256', key).update(bytes).digest('hex'));
    }
  });

  test('a function that fails ends the recording and no call', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {});
    for (const fail of [
      () => Promise.reject(new Error('full')),
      () => {
        throw new Error('full');
      },
    ]) {
      let given = 0;
      const record = trace(() => (++given > 3 ? fail() : undefined));
      const calls = pipeline([{ limit: '9/1s' }], { clock: virtualClock(), trace: record });
      for (let i = 0; i < 5; i++) {
        await calls.execute(async () => {});
        await Promise.resolve();
      }
      expect((record.error as Error).message).toBe('full');
      expect(record.counts.lostCalls + record.counts.calls).toBe(5);
      expect(record.counts.lostCalls).toBeGreaterThan(2);
      record.stop();
    }
    expect(printed).toHaveBeenCalledTimes(2);
    printed.mockRestore();
  });

  test('after the end nothing is recorded, and a trace is of one pipeline', async () => {
    let text = '';
    const record = trace((lines) => {
      text += lines;
    });
    const calls = pipeline([{ limit: '9/1s' }], { trace: record });
    expect(() => pipeline([{ limit: '9/1s' }], { trace: record })).toThrow(
      /allowed a trace that has recorded no other pipeline/,
    );
    record.stop();
    record.stop();
    const before = text;
    await calls.execute(async () => {});
    expect(text).toBe(before);
    expect(text.match(/"end"/g)).toHaveLength(1);
  });

  test('wrong options', () => {
    expect(() => trace('file' as never)).toThrow(PolicyError);
    expect(() => trace(() => {}, { redact: 'some' as never })).toThrow(
      /trace.redact: found "some"; allowed secrets, all, none/,
    );
    expect(() => trace(() => {}, { attributes: 'ip' as never })).toThrow(/trace.attributes/);
    expect(() => trace(() => {}, { sample: 1 } as never)).toThrow(/unknown name "sample"/);
    expect(() => pipeline([], { trace: {} as never })).toThrow(/pipeline.trace: .*what trace\(\)/);
  });
});
