import { expect, test } from 'vitest';
import { bulkhead, type Permit, pipeline } from '../src/index.js';
import { virtualClock } from '../src/testing/virtual-clock.js';

test('so many run, others wait in order or are refused', async () => {
  const clock = virtualClock();
  const places = bulkhead({ concurrent: 1, queue: 2, wait: '5s', clock });
  const first = (await places.acquire()) as Permit;
  const second = places.acquire();
  const third = places.acquire();
  expect(await places.acquire()).toMatchObject({ ok: false, reason: 'full' });
  expect(places.tryAcquire()).toMatchObject({ ok: false });
  first.release();
  first.release();
  const permit = await second;
  expect(permit.ok).toBe(true);
  await clock.advance(5000);
  expect(await third).toMatchObject({ ok: false, reason: 'wait' });
  if (permit.ok) permit.release();
  expect(places.tryAcquire().ok).toBe(true);
});

test('a call takes as many places as its cost, and is not overtaken', async () => {
  const places = bulkhead({ concurrent: 4, queue: 2, clock: virtualClock() });
  const first = places.tryAcquire({ cost: 3 }) as Permit;
  expect(places.counts).toEqual({ running: 3, queued: 0, free: 1 });
  expect(places.tryAcquire({ cost: 2 })).toMatchObject({ ok: false, reason: 'full' });
  expect(await places.acquire({ cost: 5 })).toMatchObject({ ok: false, reason: 'capacity' });
  const heavy = places.acquire({ cost: 4 });
  const light = places.execute(() => 'light');
  expect(places.tryAcquire()).toMatchObject({ ok: false, reason: 'full' });
  first.release();
  const all = (await heavy) as Permit;
  expect(places.counts).toEqual({ running: 4, queued: 1, free: 0 });
  all.release();
  expect(await light).toBe('light');
  expect(places.counts.free).toBe(4);
  expect(places.tryAcquire({ cost: 0 }).ok).toBe(true);
  expect(places.counts.free).toBe(3);
  expect(() => places.tryAcquire({ cost: -1 })).toThrow('cost');
});

test('a step has a cost of its own', async () => {
  const size = { attribute: 'header:x-size', default: 2 } as const;
  const calls = pipeline([{ bulkhead: { concurrent: 4, cost: size } }], { clock: virtualClock() });
  let end = (): void => undefined;
  const held = calls.execute(
    () =>
      new Promise<void>((resolve) => {
        end = resolve;
      }),
    { attributes: { 'header:x-size': '3' } },
  );
  await expect(calls.execute(() => 1)).rejects.toMatchObject({ reason: 'full' });
  expect(await calls.execute(() => 1, { attributes: { 'header:x-size': '0' } })).toBe(1);
  end();
  await held;
  expect(await calls.execute(() => 1, { cost: 9 })).toBe(1);
});

test('an aborted signal frees the place in the queue', async () => {
  const places = bulkhead({ concurrent: 1, queue: 1, clock: virtualClock() });
  const held = places.tryAcquire() as Permit;
  const controller = new AbortController();
  const gone = places.acquire({ signal: controller.signal });
  controller.abort('enough');
  await expect(gone).rejects.toBe('enough');
  const next = places.acquire();
  held.release();
  expect((await next).ok).toBe(true);
});

test('execute gives the place back, whatever happens', async () => {
  const places = bulkhead(1);
  await expect(places.execute(() => Promise.reject(new Error('mine')))).rejects.toThrow('mine');
  expect(await places.execute(() => 1)).toBe(1);
});

test('leases run out unless renewed', async () => {
  const clock = virtualClock();
  const places = bulkhead({ concurrent: 1, lease: '1s', clock });
  const lapsed: number[] = [];
  places.on('lapse', ({ at }) => lapsed.push(at));
  const held = places.tryAcquire() as Permit;
  await clock.advance(900);
  held.renew();
  await clock.advance(900);
  expect(places.tryAcquire().ok).toBe(false);
  await clock.advance(100);
  expect(lapsed).toEqual([1900]);
  expect(places.tryAcquire().ok).toBe(true);
});

test('shadow: a phantom enters the queue and leaves it', async () => {
  const clock = virtualClock();
  const places = bulkhead({ concurrent: 1, queue: 1, shadow: true, clock });
  const heard: string[] = [];
  places.on(({ kind }) => heard.push(kind));
  const [a, b, c] = (await Promise.all([places.acquire(), places.acquire(), places.acquire()])) as Permit[];
  expect([a?.ok, b?.ok, c?.ok]).toEqual([true, true, true]);
  expect(heard).toEqual(['admit', 'wait', 'reject']);
  a?.release();
  expect((await places.acquire()).ok).toBe(true);
  b?.release();
  c?.release();
});

test('using gives the place back', () => {
  const places = bulkhead(1);
  const permit = places.tryAcquire() as Permit;
  if (Symbol.dispose) permit[Symbol.dispose]();
  else permit.release();
  expect(places.tryAcquire().ok).toBe(true);
});

test('what a function and a caller are given holds without its object', async () => {
  const clock = virtualClock();
  const places = bulkhead({ concurrent: 1, lease: '1m', clock });
  const long = places.execute(async ({ attempt, signal, renew }) => {
    await clock.advance(50_000);
    renew();
    await clock.advance(50_000);
    return [attempt, signal.aborted, places.tryAcquire().ok];
  });
  expect(await long).toEqual([1, false, false]);
  const { ok, renew, release } = places.tryAcquire() as Permit;
  renew();
  expect([ok, places.tryAcquire().ok]).toEqual([true, false]);
  release();
  release();
  expect(places.tryAcquire().ok).toBe(true);
  const steps = pipeline([{ bulkhead: { concurrent: 1, lease: '1m' } }], { clock });
  const held = steps.execute(async ({ renew }) => {
    await clock.advance(50_000);
    renew();
    await clock.advance(50_000);
    return (await steps.attempt(() => 1)).ok;
  });
  expect(await held).toBe(false);
});
