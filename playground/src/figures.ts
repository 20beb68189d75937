// The figures of one run or of two beside each other.

import type { ClientResult, ServiceResult, SimulationResult } from '../../js/src/testing/scenario.js';

type Figure<R> = readonly [name: string, text: (one: R) => string | undefined];

const number = (x: number): string =>
  x >= 100 || Number.isInteger(x) ? Math.round(x).toLocaleString('en-US') : String(Number(x.toPrecision(3)));

export function duration(s: number): string {
  if (s === 0) return '0s';
  if (s < 1e-3) return `${number(s * 1e6)}µs`;
  if (s < 1) return `${number(s * 1e3)}ms`;
  if (s < 120) return `${number(s)}s`;
  return `${Math.floor(s / 60)}m${Math.round(s % 60)}s`;
}

function percent(part: number, whole: number): string {
  const share = (100 * part) / whole;
  return share > 0 && share < 0.1 ? '<0.1%' : `${share === 100 ? 100 : Number(share.toPrecision(3))}%`;
}

const share = (part: number, whole: number): string | undefined =>
  part > 0 ? `${number(part)} (${percent(part, whole)})` : undefined;

const CLIENT: readonly Figure<ClientResult>[] = [
  ['calls', ({ calls }) => number(calls)],
  ['ok', ({ ok, calls }) => share(ok, calls) ?? '0'],
  ['failed', ({ failed, calls }) => share(failed, calls)],
  ['refused', ({ refused, calls }) => share(refused, calls)],
  ['unfinished', ({ unfinished, calls }) => share(unfinished, calls)],
  ['goodput', ({ goodput }) => `${number(goodput)}/s`],
  ['attempts a call', ({ amplification }) => number(Number(amplification.toPrecision(3)))],
  ['latency p50', ({ ok, latency }) => (ok ? duration(latency.p50) : undefined)],
  ['latency p99', ({ ok, latency }) => (ok ? duration(latency.p99) : undefined)],
  ['recovery', ({ recovery }) => (recovery === null ? undefined : duration(recovery))],
  ['fairness between keys', ({ fairness }) => (fairness < 0.9995 ? number(fairness) : undefined)],
];

const SERVICE: readonly Figure<ServiceResult>[] = [
  ['arrived', ({ arrived }) => number(arrived)],
  ['dropped', ({ dropped, arrived }) => share(dropped, arrived)],
  ['refused', ({ refused, arrived }) => share(refused, arrived)],
  ['wasted', ({ wasted, served }) => share(wasted, served)],
  ['busy servers', ({ utilization }) => percent(utilization, 1)],
  ['wait p99', ({ wait }) => (wait.max > 0 ? duration(wait.p99) : undefined)],
];

function element(name: string, text = '', className = ''): HTMLElement {
  const one = document.createElement(name);
  one.textContent = text;
  if (className) one.className = className;
  return one;
}

/** Fills a place with a table for each client and each service. */
export function showFigures(
  place: HTMLElement,
  results: readonly SimulationResult[],
  names: readonly string[],
): void {
  const [first] = results;
  if (!first) return;
  place.replaceChildren(
    ...Object.keys(first.clients).map((name) =>
      card(
        `client ${name}`,
        CLIENT,
        results.map(({ clients }) => clients[name]),
        names,
      ),
    ),
    ...Object.keys(first.services).map((name) =>
      card(
        `service ${name}`,
        SERVICE,
        results.map(({ services }) => services[name]),
        names,
      ),
    ),
  );
}

function card<R>(
  title: string,
  figures: readonly Figure<R>[],
  results: readonly (R | undefined)[],
  names: readonly string[],
): HTMLElement {
  const table = element('table');
  if (results.length > 1) {
    const head = element('tr');
    head.append(element('td'), ...names.map((name) => element('th', name)));
    const part = element('thead');
    part.append(head);
    table.append(part);
  }
  const body = element('tbody');
  for (const [name, text] of figures) {
    const texts = results.map((one) => (one ? text(one) : undefined));
    if (texts.every((one) => one === undefined)) continue;
    const row = element('tr');
    const header = element('th', name);
    header.setAttribute('scope', 'row');
    row.append(header, ...texts.map((one) => element('td', one ?? '–')));
    body.append(row);
  }
  table.append(body);
  const one = element('section', '', 'card');
  one.append(element('h3', title), table);
  return one;
}
