// Charts of the last seconds as SVG. A chart is a few paths that are given new
// data; the page gives the colors and fonts.

import { HISTORY, QUEUE } from './world.js';

const SVG = 'http://www.w3.org/2000/svg';
const HEIGHT = 200;
const LEFT = 70;
const RIGHT = 12;
const TOP = 10;
const BOTTOM = 24;
const TICK = 20;

/** Tokens above a line, callers that wait below it. */
export function limiterChart(parent) {
  const chart = new Chart(parent, ['level area', 'level', 'waiting area', 'waiting', 'zero']);
  return (world) => {
    const { now, samples, burst, level, waiting } = world;
    const all = [...samples, { at: now, level, waiting }];
    const x = chart.x(now);
    const y = (value) => TOP + ((burst - value) / (burst + QUEUE)) * (HEIGHT - TOP - BOTTOM);
    const line = (name, value) => {
      const points = all.map((sample) => `${x(sample.at)} ${y(value(sample))}`).join('L');
      chart.set(name, `M${points}`);
      chart.set(`${name} area`, `M${x(all[0].at)} ${y(0)}L${points}L${x(now)} ${y(0)}Z`);
    };
    line('level', (sample) => sample.level);
    line('waiting', (sample) => -sample.waiting);
    chart.set('zero', `M${LEFT} ${y(0)}H${chart.width - RIGHT}`);
    chart.rows([
      [y(burst), `${burst} tokens`],
      [y(0), '0'],
      [y(-QUEUE), `${QUEUE} wait`],
    ]);
    chart.label(`${level.toFixed(1)} of ${burst} tokens in the bucket, ${waiting} of ${QUEUE} callers wait`);
  };
}

const LANES = ['answered', 'failed', 'refused'];

/** The end of each request as a tick, over the states of the breaker. */
export function breakerChart(parent) {
  const chart = new Chart(parent, ['open', 'half-open', ...LANES]);
  return (world) => {
    const { now, ends, states, state } = world;
    const x = chart.x(now);
    const y = (lane) => TOP + ((LANES.indexOf(lane) + 0.5) / LANES.length) * (HEIGHT - TOP - BOTTOM);
    for (const name of ['open', 'half-open']) {
      const stays = states
        .map((from, i) => [from, states[i + 1]?.at ?? now])
        .filter(([from]) => from.state === name);
      const box = ([from, to]) => `M${x(from.at)} ${TOP}H${x(to)}V${HEIGHT - BOTTOM}H${x(from.at)}Z`;
      chart.set(name, stays.map(box).join(''));
    }
    for (const lane of LANES) {
      // A refusal by the limiter never came as far as the breaker.
      const ticks = ends.filter(({ how }) => how === lane || (lane === 'refused' && how === 'broken'));
      chart.set(lane, ticks.map(({ at }) => `M${x(at)} ${y(lane) - TICK / 2}v${TICK}`).join(''));
    }
    chart.rows(LANES.map((lane) => [y(lane), lane]));
    const { answered, failed, broken } = world.counts;
    chart.label(`The breaker is ${state}: ${answered} answered, ${failed} failed, ${broken} refused`);
  };
}

class Chart {
  width = 0;
  #svg = element('svg', { role: 'img', height: HEIGHT });
  #paths = new Map();
  #texts = [];

  constructor(parent, names) {
    parent.append(this.#svg);
    for (const name of names) {
      const path = element('path', { class: name });
      this.#paths.set(name, path);
      this.#svg.append(path);
    }
    new ResizeObserver(([{ contentRect }]) => {
      this.width = contentRect.width;
      this.#svg.setAttribute('width', this.width);
      this.#seconds();
    }).observe(parent);
  }

  /** The position of a time, with now at the right edge. */
  x(now) {
    const span = this.width - LEFT - RIGHT;
    return (at) => Math.max(LEFT, this.width - RIGHT - ((now - at) / HISTORY) * span).toFixed(1);
  }

  set(name, d) {
    this.#paths.get(name).setAttribute('d', d);
  }

  /** Names heights at the left edge. */
  rows(rows) {
    rows.forEach(([y, text], i) => {
      this.#texts[i] ??= this.#text({ x: LEFT - 8, 'text-anchor': 'end', 'dominant-baseline': 'middle' });
      this.#texts[i].setAttribute('y', y);
      this.#texts[i].textContent = text;
    });
  }

  /** Describes the chart for users who do not see it. */
  label(text) {
    this.#svg.setAttribute('aria-label', text);
  }

  #seconds() {
    for (const text of this.#svg.querySelectorAll('.seconds')) text.remove();
    for (let seconds = 0; seconds <= HISTORY / 1_000; seconds += 10) {
      const anchor = seconds === 0 ? 'end' : 'middle';
      const text = this.#text({
        class: 'seconds',
        x: this.x(0)(-seconds * 1_000),
        y: HEIGHT - 6,
        'text-anchor': anchor,
      });
      text.textContent = seconds === 0 ? 'now' : `−${seconds} s`;
    }
  }

  #text(attributes) {
    const text = element('text', attributes);
    this.#svg.append(text);
    return text;
  }
}

function element(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
