// OpenTelemetry and YAML, with the real packages.

import { readdirSync, readFileSync } from 'node:fs';
import { context, type Span, trace } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { expect, test } from 'vitest';
import { circuitBreaker, type PolicyDocument, PolicyError, pipeline, policy } from '../src/index.js';
import { instrument } from '../src/opentelemetry.js';
import { virtualClock } from '../src/testing/virtual-clock.js';
import { parse } from '../src/yaml.js';

async function metered(use: (meterProvider: MeterProvider) => Promise<void>) {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 31 - 1 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  await use(meterProvider);
  await reader.forceFlush();
  const found: { [name: string]: [attributes: object, value: unknown][] } = {};
  for (const { scopeMetrics } of exporter.getMetrics()) {
    for (const { scope, metrics } of scopeMetrics) {
      expect(scope.name).toBe('@sluice/core');
      for (const { descriptor, dataPoints } of metrics) {
        found[descriptor.name] = dataPoints.map(({ attributes, value }) => [attributes, value]);
      }
    }
  }
  await meterProvider.shutdown();
  return found;
}

test('decisions, durations and running calls are metrics; keys are not', async () => {
  const clock = virtualClock();
  const found = await metered(async (meterProvider) => {
    const calls = pipeline([{ limit: { rate: '2/1h', per: 'key' } }, { timeout: '2s' }], { clock });
    instrument(calls, { policy: 'vendor', meterProvider });
    await calls.execute(() => 1, { key: 'a' });
    const slow = calls.attempt(() => new Promise(() => {}), { key: 'a' });
    await clock.advance(2000);
    await slow;
    for (let i = 0; i < 3; i++) await calls.attempt(() => 1, { key: 'a' });
    void calls.execute(() => new Promise(() => {}), { key: 'b' });
  });
  const of = (decision: string, more: object = {}): object => ({
    'sluice.policy': 'vendor',
    'sluice.decision': decision,
    ...more,
  });
  expect(found['sluice.decisions']).toEqual([
    [of('admit'), 3],
    [of('end', { 'sluice.outcome': 'ok' }), 1],
    [of('timeout', { 'sluice.step': 'timeout' }), 1],
    [of('end', { 'sluice.outcome': 'timeout' }), 1],
    [of('reject', { 'sluice.step': 'limit', 'sluice.reason': 'rate' }), 3],
  ]);
  const durations = found['sluice.call.duration']?.map(([attributes, value]) => [
    attributes,
    (value as { sum: number }).sum,
  ]);
  expect(durations).toEqual([
    [{ 'sluice.policy': 'vendor', 'sluice.outcome': 'ok' }, 0],
    [{ 'sluice.policy': 'vendor', 'sluice.outcome': 'timeout' }, 2],
  ]);
  expect(found['sluice.calls.running']).toEqual([[{ 'sluice.policy': 'vendor' }, 1]]);
});

test('a soft limit has a name of its own, and no timeout is counted', async () => {
  const clock = virtualClock();
  const found = await metered(async (meterProvider) => {
    const calls = pipeline([{ timeout: { after: '9s', soft: '2s' } }], { clock });
    instrument(calls, { meterProvider });
    const slow = calls.execute(() => new Promise((done) => clock.setTimeout(() => done(1), 3000)));
    await clock.advance(3000);
    await slow;
  });
  expect(found['sluice.decisions']).toEqual([
    [{ 'sluice.decision': 'admit' }, 1],
    [{ 'sluice.decision': 'soft-timeout', 'sluice.step': 'timeout' }, 1],
    [{ 'sluice.decision': 'end', 'sluice.outcome': 'ok' }, 1],
  ]);
});

test('a mechanism alone is told, until it is stopped', async () => {
  const found = await metered(async (meterProvider) => {
    const breaker = circuitBreaker({ window: { consecutive: 1 } });
    const stop = instrument(breaker, { meterProvider });
    await breaker.execute(() => Promise.reject(new Error('down'))).catch(() => {});
    stop();
    breaker.tryAcquire();
  });
  expect(found['sluice.decisions']).toEqual([
    [{ 'sluice.decision': 'admit', 'sluice.step': 'breaker' }, 1],
    [{ 'sluice.decision': 'end', 'sluice.step': 'breaker', 'sluice.outcome': 'fail' }, 1],
  ]);
  expect(found['sluice.breaker.changes']).toEqual([
    [{ 'sluice.step': 'breaker', 'sluice.state': 'open' }, 1],
  ]);
  expect(found['sluice.calls.running']).toBeUndefined();
});

test('names, units and descriptions are those of the table of all runtimes', async () => {
  interface Metric {
    name: string;
    unit: string;
    help: string;
    in: string[];
  }
  const table = JSON.parse(
    readFileSync(new URL('../../internal/metricnames/testdata/metrics.json', import.meta.url), 'utf8'),
  ) as Metric[];
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 31 - 1 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const calls = pipeline([{ breaker: { window: { consecutive: 1 } } }]);
  instrument(calls, { policy: 'vendor', meterProvider });
  await calls.execute(() => Promise.reject(new Error('down'))).catch(() => {});
  await reader.forceFlush();
  const found = exporter
    .getMetrics()
    .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
    .map(({ descriptor: { name, unit, description } }) => [name, unit, description]);
  await meterProvider.shutdown();
  const want = table.filter((m) => m.in.includes('javascript')).map((m) => [m.name, m.unit, m.help]);
  expect(found.sort()).toEqual(want.sort());
});

test('a stopped pipeline is observed no more', async () => {
  const found = await metered(async (meterProvider) => {
    instrument(pipeline([{ limit: '1/1h' }]), { meterProvider })();
  });
  expect(found).toEqual({});
});

test('refusals are events of the active span', async () => {
  const events: unknown[] = [];
  const span = { addEvent: (...event: unknown[]) => events.push(event) } as unknown as Span;
  let active = context.active();
  context.setGlobalContextManager({
    active: () => active,
    with: (_context, f, self, ...args) => f.apply(self as never, args),
    bind: (_, target) => target,
    enable() {
      return this;
    },
    disable() {
      return this;
    },
  });
  try {
    active = trace.setSpan(active, span);
    const calls = pipeline([{ limit: { rate: '1/1h' } }]);
    instrument(calls, { spanEvents: true });
    for (let i = 0; i < 2; i++) await calls.attempt(() => 1);
    const silent = pipeline([{ limit: { rate: '1/1h' } }]);
    instrument(silent);
    for (let i = 0; i < 2; i++) await silent.attempt(() => 1);
  } finally {
    context.disable();
  }
  expect(events).toEqual([
    ['sluice.reject', { 'sluice.decision': 'reject', 'sluice.step': 'limit', 'sluice.reason': 'rate' }],
  ]);
});

test('YAML is read as JSON is', async () => {
  const calls = policy(
    parse('version: 1\npolicies:\n  vendor: &v\n    steps:\n      - limit: 1/1m\n      - timeout: 1s\n'),
    'vendor',
  );
  expect(calls.policy).toEqual({ steps: [{ limit: '1/1m' }, { timeout: '1s' }] });
  expect(policy(parse('steps: [{ retry: 3 }]')).policy).toEqual({ steps: [{ retry: 3 }] });
  expect(() => policy(parse('steps: [{ retry: yes }]'))).toThrow(PolicyError);
  expect(() => parse('steps: [\n')).toThrow(/at line 2/);
  expect(() => parse('steps: []\nsteps: []\n')).toThrow(/unique/);
  const bomb = `a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [${'*a,'.repeat(10)}]\nc: [${'*b,'.repeat(10)}]\n`;
  expect(() => parse(bomb)).toThrow(/alias/);
});

const good = new URL('../../policy/testdata/good/', import.meta.url);

test.each(readdirSync(good).filter((name) => name.endsWith('.yaml')))('%s of the repository', (name) => {
  const { policies } = parse(readFileSync(new URL(name, good), 'utf8')) as PolicyDocument;
  for (const one of Object.keys(policies)) {
    expect(() => policy(parse(readFileSync(new URL(name, good), 'utf8')), one)).not.toThrow();
  }
});
