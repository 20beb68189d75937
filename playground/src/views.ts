// The lanes of runs beside each other, with one cursor, and the decisions there.

import { entry } from '../../sim/report/page/src/decisions.js';
import { duration, element } from '../../sim/report/page/src/format.js';
import { Lanes } from '../../sim/report/page/src/lanes.js';

interface Sample {
  client: number;
  at: number;
}

/** What the simulator gives to be drawn, see package lanes. */
interface Data {
  duration: number;
  width: number;
  parts: number;
  groups: { name: string; service: boolean }[];
  samples: Sample[];
}

let views: Lanes[] = [];

/** Draws runs in a place, in place of those before. */
export function showLanes(place: HTMLElement, texts: readonly string[], names: readonly string[]): void {
  for (const lanes of views) lanes.destroy();
  views = [];
  place.classList.toggle('two', texts.length > 1);
  const roots = texts.map((_, i) => {
    const root = element('section', 'lanes');
    root.tabIndex = 0;
    root.setAttribute('aria-label', `Lanes of the ${names[i]} run; the arrow keys move the cursor`);
    const list = element('ol', 'log');
    const at = element('output', '');
    const decisions = element(
      'aside',
      'card decisions',
      element('div', 'top', element('h2', '', 'Decisions'), at),
      list,
    );
    const over = element('div', 'over', root, decisions);
    return { root, list, at, over };
  });
  place.replaceChildren(...roots.map(({ over }) => over));
  views = roots.map(({ root, list, at }, i) => view(root, list, at, JSON.parse(texts[i] as string) as Data));
}

/** Moves the cursors of all views to the cursor of one. */
function follow(one: Lanes): void {
  for (const lanes of views) {
    if (lanes === one) continue;
    if (lanes.pinned !== one.pinned) lanes.pin(one.pinned ? one.part : null);
    if (!one.pinned) lanes.move(one.part);
  }
}

function view(root: HTMLElement, list: HTMLElement, at: HTMLElement, data: Data): Lanes {
  const byPart: Sample[][] = Array.from({ length: data.parts }, () => []);
  for (const sample of data.samples)
    byPart[Math.min(Math.floor(sample.at / data.width), data.parts - 1)]?.push(sample);
  const clients = data.groups.filter(({ service }) => !service);
  const showDecisions = (part: number | null): void => {
    const first = byPart.findIndex((samples) => samples.length > 0);
    const shown = part ?? Math.max(first, 0);
    const end = Math.min((shown + 1) * data.width, data.duration);
    at.textContent = part === null ? '' : `${duration(shown * data.width)} to ${duration(end)}`;
    const samples = byPart[shown] ?? [];
    list.replaceChildren(
      ...samples.map((sample) => entry(sample, clients.length > 1 ? clients[sample.client]?.name : '')),
    );
    if (!samples.length) list.append(element('li', 'state', 'no decision in this part was sampled'));
  };
  const lanes: Lanes = new Lanes(root, data, (part: number | null) => {
    showDecisions(part);
    follow(lanes);
  });
  showDecisions(null);
  return lanes;
}
