// The page: two editors, runs in workers, and their figures and lanes.

import type { SimulationResult } from '../../js/src/testing/scenario.js';
import { type Problem, problemsOf, Source } from './document.js';
import { editor } from './editor.js';
import { showFigures } from './figures.js';
import type { Schema } from './schema.js';
import { decode, encode, type Shared } from './share.js';
import { type Finished, SimulationError, simulate } from './simulator.js';
import { showLanes } from './views.js';

interface Preset {
  name: string;
  text: string;
}

const find = <E extends HTMLElement>(id: string): E => document.getElementById(id) as E;
const preset = find<HTMLSelectElement>('preset');
const seed = find<HTMLInputElement>('seed');
const compare = find<HTMLInputElement>('compare');
const runButton = find<HTMLButtonElement>('run');
const bar = find<HTMLProgressElement>('progress');
const status = find<HTMLElement>('status');

const presets: Preset[] = [];
let schema: Schema = {};
/** What the second editor's document is: the entry of policies of a scenario. */
const partial = (): Schema => ({
  ...schema,
  properties: { policies: schema.properties?.policies ?? {} },
});

const scenario = editor({
  parent: find('scenario'),
  label: 'Scenario',
  schema: () => schema,
  changed: () => changed(),
  run: () => void run(),
});
const other = editor({
  parent: find('other'),
  label: 'Second policies',
  schema: partial,
  changed: () => changed(),
  run: () => void run(),
});

/** The documents to run: the scenario, and with the policies of the comparison. */
function documents(): { json: string; source: (path: string) => Source | undefined }[] {
  const own = new Source(scenario.text);
  const all: ReturnType<typeof documents> = [{ json: own.json(), source: () => own }];
  if (!compare.checked) return all;
  const more = new Source(other.text);
  all.push({
    json: own.json({ policies: more.entry('policies') ?? 'null' }),
    source: (path) => (/^policies\b/.test(path) ? more : undefined),
  });
  return all;
}

let checking = new AbortController();
let timer: ReturnType<typeof setTimeout> | undefined;

function changed(): void {
  // What was edited is no preset any more, and is not replaced by one.
  if (presets.find(({ name }) => name === preset.value)?.text !== scenario.text) preset.value = '';
  clearTimeout(timer);
  timer = setTimeout(() => void check(), 300);
}

/** Shows what is wrong with the documents. It returns whether nothing is. */
async function check(): Promise<boolean> {
  checking.abort();
  checking = new AbortController();
  const { signal } = checking;
  const editors = compare.checked ? [scenario, other] : [scenario];
  const unread = editors.map(({ text }) => new Source(text).problems);
  if (unread.some((problems) => problems.length)) return shown(unread);
  const found: Problem[][] = [];
  for (const { json, source } of documents()) {
    try {
      await simulate(json, { checks: true, signal });
      found.push([]);
    } catch (error) {
      found.push(problemsOf((error as Error).message, source));
    }
  }
  return shown(found);
}

function shown(found: readonly (readonly Problem[])[]): boolean {
  scenario.show(found[0] ?? []);
  other.show(found[1] ?? []);
  const count = found.reduce((sum, one) => sum + one.length, 0);
  const [first] = found.flat();
  if (first) say(`${count === 1 ? '1 error' : `${count} errors`}: ${first.message}`, true);
  else if (status.classList.contains('wrong')) say('');
  return !first;
}

function say(text: string, wrong = false): void {
  status.textContent = text;
  status.classList.toggle('wrong', wrong);
}

let running: AbortController | undefined;

function stop(): void {
  running?.abort();
  running = undefined;
  runButton.textContent = 'Run';
  bar.hidden = true;
}

/** Runs the documents beside each other and shows what came of them. */
async function run(): Promise<void> {
  stop();
  clearTimeout(timer);
  if (!(await check())) return;
  const controller = new AbortController();
  running = controller;
  runButton.textContent = 'Cancel';
  const began = performance.now();
  const all = documents();
  const parts = all.map(() => 0);
  const progress = (i: number) => (part: number) => {
    parts[i] = part;
    bar.value = parts.reduce((sum, one) => sum + one, 0) / parts.length;
    bar.hidden = performance.now() - began < 200;
  };
  try {
    const { signal } = controller;
    const own = seed.value.trim() || undefined;
    const finished = await Promise.all(
      all.map(({ json }, i) => simulate(json, { seed: own, signal, progress: progress(i) })),
    );
    show(finished as Finished[], performance.now() - began);
  } catch (error) {
    if (!(error instanceof SimulationError)) throw error;
    say(error.message, true);
  }
  if (running === controller) stop();
}

const NAMES = ['first', 'second'];

function show(finished: readonly Finished[], took: number): void {
  const results = finished.map(({ result }) => JSON.parse(result) as SimulationResult);
  const calls = results.reduce(
    (sum, { clients }) => sum + Object.values(clients).reduce((all, one) => all + one.calls, 0),
    0,
  );
  const seconds = (took / 1000).toFixed(took < 10_000 ? 2 : 0);
  say(`${calls.toLocaleString('en-US')} calls in ${seconds} s, seed ${results[0]?.seed}`);
  const verdicts = results.map(({ verdict }, i) => {
    const heading = document.createElement('h2');
    const mark = document.createElement('span');
    mark.className = `verdict ${verdict}`;
    mark.textContent = verdict;
    heading.append(results.length > 1 ? `${NAMES[i]}: ` : 'Verdict: ', mark);
    return heading;
  });
  find('verdicts').replaceChildren(...verdicts);
  const figures = find('figures');
  figures.classList.toggle('two', results.length > 1);
  showFigures(figures, results, NAMES);
  find('results').hidden = false;
  showLanes(
    find('lanes'),
    finished.map(({ lanes }) => lanes),
    NAMES,
  );
  document.body.dataset.runs = String(Number(document.body.dataset.runs ?? 0) + 1);
}

function showCompare(): void {
  document.body.classList.toggle('comparing', compare.checked);
  if (compare.checked && !other.text.trim()) other.text = new Source(scenario.text).entryText('policies');
  changed();
}

async function share(): Promise<void> {
  const shared: Shared = {
    scenario: scenario.text,
    ...(compare.checked && { other: other.text }),
    ...(seed.value.trim() && { seed: seed.value.trim() }),
  };
  history.replaceState(null, '', `#${await encode(shared)}`);
  try {
    await navigator.clipboard.writeText(location.href);
    say('The link is copied.');
  } catch {
    say('The link is in the address of this page.');
  }
}

/** Takes a scenario, and with one to compare its policies. */
function take(shared: Shared): void {
  scenario.text = shared.scenario;
  other.text = shared.other ?? '';
  compare.checked = shared.other !== undefined;
  seed.value = shared.seed ?? '';
  showCompare();
}

async function pick(name: string): Promise<void> {
  const one = presets.find((candidate) => candidate.name === name);
  if (!one) return;
  // A cure is compared with what it cures.
  const cured = compare.checked ? presets.find((candidate) => candidate.name === `${name}-cured`) : undefined;
  take({
    scenario: one.text,
    ...(compare.checked && { other: new Source((cured ?? one).text).entryText('policies') }),
  });
  await run();
}

async function begin(): Promise<void> {
  const load = async (file: string): Promise<unknown> => (await fetch(file)).json();
  const [list, own] = await Promise.all([load('presets.json'), load('schema.json')]);
  presets.push(...(list as Preset[]));
  schema = own as Schema;
  preset.append(...presets.map(({ name }) => new Option(name, name)));
  await takeFragment();
}

async function takeFragment(): Promise<void> {
  const fragment = location.hash.slice(1);
  const shared = await decode(fragment);
  if (shared) {
    preset.value = '';
    take(shared);
    await run();
    return;
  }
  preset.value = presets.some(({ name }) => name === fragment) ? fragment : 'retry-storm';
  await pick(preset.value);
  if (fragment && preset.value !== fragment) say('The link is damaged: this is a preset.', true);
}

preset.addEventListener('change', () => {
  history.replaceState(null, '', `#${preset.value}`);
  void pick(preset.value);
});
compare.addEventListener('change', () => {
  if (compare.checked && preset.value) void pick(preset.value);
  else showCompare();
});
runButton.addEventListener('click', () => (running ? stop() : void run()));
find('share').addEventListener('click', () => void share());
seed.addEventListener('keydown', ({ key }) => {
  if (key === 'Enter') void run();
});
addEventListener('hashchange', () => void takeFragment());
void begin();
