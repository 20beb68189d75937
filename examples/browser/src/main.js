import { systemClock } from '@sluice/core';
import { virtualClock } from '@sluice/core/testing';
import { breakerChart, limiterChart } from './chart.js';
import { World } from './world.js';

/** The most lines that the log keeps. */
const LINES = 100;

const $ = (id) => document.getElementById(id);

// With ?clock=manual time advances only when a button moves it, for a close look and for tests.
const manual = new URLSearchParams(location.search).get('clock') === 'manual' ? virtualClock() : undefined;
const clock = manual ?? systemClock();
const begun = clock.now();
const seconds = () => ((clock.now() - begun) / 1_000).toFixed(1);

const world = new World(clock, (text, kind) => {
  const line = document.createElement('li');
  line.className = kind;
  line.textContent = `${seconds()} s ${text}`;
  $('log').prepend(line);
  if ($('log').childElementCount > LINES) $('log').lastElementChild.remove();
});

const charts = [
  [$('limiter-chart'), limiterChart],
  [$('breaker-chart'), breakerChart],
].map(([parent, chart]) => chart(parent));

function show() {
  for (const draw of charts) draw(world);
  const { state, closedFor, counts } = world;
  write('level', world.level.toFixed(1));
  write('waiting', world.waiting);
  write('state', state);
  $('state').dataset.state = state;
  write('next', state === 'open' ? `tries again in ${(closedFor / 1_000).toFixed(1)} s` : '');
  for (const [name, count] of Object.entries(counts)) write(name, count);
  slide('traffic', `${world.traffic} a second`);
  slide('rate', `${world.rate} a second`);
  slide('burst', `${world.burst} tokens`);
  write('time', `${seconds()} s`);
}

// Screen readers read a text again when it is written again.
function write(id, text) {
  if ($(id).textContent !== String(text)) $(id).textContent = text;
}

function slide(id, text) {
  write(`${id}-text`, text);
  if ($(id).ariaValueText !== text) $(id).ariaValueText = text;
}

// On the manual clock one thing is over before the next begins: who presses
// quickly gets what a slow one would get.
let last = Promise.resolve();

/** Does something, and lets time pass on the manual clock. */
function act(what, milliseconds = 0) {
  if (!manual) {
    what();
    return;
  }
  last = last
    .then(what)
    .then(() => manual.advance(milliseconds))
    .then(show);
}

const on = (id, event, what) => $(id).addEventListener(event, () => act(() => what($(id))));

function send(count) {
  for (let i = 0; i < count; i++) void world.send();
}

on('send', 'click', () => send(1));
on('send-ten', 'click', () => send(10));
on('fail', 'click', (button) => {
  world.failing = !world.failing;
  button.classList.toggle('broken', world.failing);
  button.textContent = world.failing ? 'Repair the dependency' : 'Break the dependency';
});
on('traffic', 'input', ({ valueAsNumber }) => world.flow(valueAsNumber));
on('rate', 'input', ({ valueAsNumber }) => world.limit(valueAsNumber, world.burst));
on('burst', 'input', ({ valueAsNumber }) => world.limit(world.rate, valueAsNumber));
// Something to see from the beginning.
if (!manual) world.flow(4);
for (const name of ['traffic', 'rate', 'burst']) $(name).valueAsNumber = world[name];

if (manual) {
  $('manual').hidden = false;
  for (const button of document.querySelectorAll('[data-step]')) {
    button.addEventListener('click', () => act(() => {}, Number(button.dataset.step)));
  }
  new ResizeObserver(show).observe(document.body);
} else {
  const frame = () => {
    show();
    requestAnimationFrame(frame);
  };
  frame();
}
show();
