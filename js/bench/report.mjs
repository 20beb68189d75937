import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { contendersOf } from './cases/index.mjs';

/**
 * The page, with a section for each runtime. The `figures` of a section answer for a case
 * and a contender with its figure, or undefined where it has none; `about` are lines on how
 * the page was made.
 */
export function page(groups, sections, about) {
  return [
    '# Results\n\nWritten by `js/bench/main.mjs`. Do not edit.\n',
    ...about.map((line) => `- ${line}`),
    '- Ratio: the median of the peer over ours; above 1 ours is better. Times depend on the machine, ratios much less.\n',
    ...sections.flatMap((one) => section(groups, one)),
  ]
    .filter(Boolean)
    .join('\n');
}

function section(groups, { name, figures }) {
  const wishes = groups.flatMap(({ cases }) => cases.flatMap((one) => goals(one, figures)));
  return [
    `## ${name}\n`,
    wishes.length ? `### Goals\n\n${table(['case', 'ours', 'alone', 'goal', '', 'mixed', 'goal', ''], wishes.map(goalLine))}` : '',
    ...groups.map((group) => `### ${group.title}\n\n${group.about}\n\n${body(group, figures)}`),
  ];
}

/** How many goals were missed. */
export const missed = (groups, figures) =>
  groups.flatMap(({ cases }) => cases.flatMap((one) => goals(one, figures))).filter(({ met }) => !met).length;

/** What the machine was and how it was used. */
export const setting = (command, { runs, milliseconds }) => [
  `Date: ${new Date().toISOString().slice(0, 10)}`,
  `Command: \`${command}\``,
  `Machine: ${process.platform}/${process.arch}, ${availableParallelism()} CPUs, ${cpus()[0].model.trim()}, load at the end ${loadavg()[0].toFixed(1)}`,
  `Versions: ${versions()}`,
  `Method: each contender in a process of its own, ${runs} of them, those of a case taking turns; ${milliseconds / 2} ms to warm up and ${milliseconds} ms in batches of about 0.25 ms. The median is that of the medians of the processes, the mean that of their means. Mixed: a process that has used all contenders for 10 ms each before.`,
];

function versions() {
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));
  const own = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return Object.entries({ ...dependencies, [own.name]: own.version })
    .map(([name, version]) =>
      version.startsWith('npm:') ? version.slice(4).replace('@', ' ') : `${name} ${version}`,
    )
    .join(', ');
}

/** The goals of a case, with what this run shows of them. */
function goals(one, figures) {
  return Object.entries(one.ours ?? {}).flatMap(([ours, { contender, goal }]) => {
    const figure = figures(one.name, ours);
    if (!goal || !figure) return [];
    const { times, plus, above } = goal;
    const base = above === undefined ? { median: 0 } : figures(one.name, above);
    if (!base) return [];
    const bound = times * base.median + plus;
    const mixedBound = above === undefined ? plus : times * base.mixed + plus;
    const words = [above && (times === 1 ? above : `${times} x ${above}`), plus && `${plus} ${contender.unit}`].filter(Boolean).join(' + ');
    const text = above === undefined ? `<= ${words}` : `<= ${words} = ${written(bound, contender.unit)}`;
    return [{ case: one.name, ours, figure, unit: contender.unit, text, met: figure.median <= bound, mixedBound }];
  });
}

const verdict = (met) => (met ? 'met' : '**missed**');

const goalLine = (goal) => [
  goal.case,
  goal.ours,
  written(goal.figure.median, goal.unit),
  goal.text,
  verdict(goal.met),
  ...mixedColumns(goal),
];

/** The figure, the bound and the verdict of a process that uses all contenders. */
const mixedColumns = ({ figure: { mixed }, mixedBound, unit }) =>
  mixed === undefined
    ? ['-', '-', '-']
    : [written(mixed, unit), `<= ${written(mixedBound, unit)}`, verdict(mixed <= mixedBound)];

function body(group, figures) {
  if (!group.cases[0].ours) {
    return table(
      ['what', 'median', 'mean'],
      group.cases.map(({ name }) => [name, ...columns(figures(name, name), 'ns')]),
    );
  }
  return table(
    ['case', 'ours', 'median', 'mean', 'peer', 'median', 'mean', 'ratio'],
    group.cases.flatMap((one) => lines(one, figures)),
  );
}

function lines(one, figures) {
  const { unit } = Object.values(contendersOf(one))[0];
  return Object.keys(one.ours).flatMap((ours) => {
    const own = figures(one.name, ours);
    return Object.keys(one.peers).map((peer) => {
      const other = figures(one.name, peer);
      const ratio = own && other ? `${(other.median / own.median).toFixed(2)}x` : '-';
      return [one.name, ours, ...columns(own, unit), peer, ...columns(other, unit), ratio];
    });
  });
}

/** The median and the mean of a figure, where it has them. */
const columns = (figure, unit) =>
  figure
    ? [written(figure.median, unit), figure.mean === undefined ? '-' : written(figure.mean, unit)]
    : ['failed', 'failed'];

function written(value, unit) {
  const digits = value < 100 ? 1 : 0;
  return `${value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${unit}`;
}

const row = (cells) => `| ${cells.join(' | ')} |\n`;

const table = (heads, rows) => row(heads) + row(heads.map(() => '---')) + rows.map(row).join('');
