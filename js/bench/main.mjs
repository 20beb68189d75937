// Measures @sluice/core beside its peers and prints the table: README.md.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { contendersOf, groups } from './cases/index.mjs';
import { median } from './measure.mjs';
import { missed, page, setting } from './report.mjs';

const HELP = `node main.mjs [options] [NAME ...]   measure the cases whose names match one of the
                                     regular expressions NAME; without one, all

  -o, --output FILE    write the page to FILE too
  -r, --runs N         processes for each contender (3)
  -t, --time MS        how long each is measured (300)
  -n, --node FILE      the Node that measures; several times for several, of which each
                       has a section of the page (the one that runs this)
      --profile DIR    leave a CPU profile of each process in DIR
      --check          see that every contender works, in a few milliseconds each
  -l, --list           list the cases
  -h, --help           this text
`;

const worker = fileURLToPath(new URL('worker.mjs', import.meta.url));
const run = promisify(execFile);

/** What a process may take above the time that it measures; bottleneck takes 5 s for two batches of jobs. */
const PATIENCE_MS = 60_000;

function parse() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      output: { type: 'string', short: 'o' },
      runs: { type: 'string', short: 'r', default: '3' },
      time: { type: 'string', short: 't', default: '300' },
      node: { type: 'string', short: 'n', multiple: true, default: [process.execPath] },
      profile: { type: 'string' },
      check: { type: 'boolean' },
      list: { type: 'boolean', short: 'l' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  const names = positionals.map((name) => new RegExp(name));
  return { ...values, names, runs: whole('runs', values.runs), milliseconds: whole('time', values.time) };
}

function whole(name, text) {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw new Error(`--${name}: found ${text}; allowed a whole number above 0`);
}

/** The groups with the cases that are asked for. */
function chosen(names) {
  if (!names.length) return groups;
  const asked = ({ name }) => names.some((pattern) => pattern.test(name));
  return groups
    .map((group) => ({ ...group, cases: group.cases.filter(asked) }))
    .filter(({ cases }) => cases.length);
}

/** What a process says of a contender. */
async function measured(name, contender, { milliseconds, check, profile }, node, mixed = false) {
  const options = JSON.stringify({ milliseconds, small: check === true, mixed });
  const flags = profile
    ? ['--cpu-prof', `--cpu-prof-dir=${profile}`, `--cpu-prof-name=${slug(name, contender)}`]
    : [];
  const args = [...flags, '--expose-gc', worker, name, contender, options];
  const { stdout } = await run(node, args, { timeout: milliseconds + PATIENCE_MS });
  return JSON.parse(stdout);
}

const slug = (...names) => `${names.join('--').replace(/[^\w-]+/g, '-')}.cpuprofile`;

const quoted = (word) => (/^[\w./=-]+$/.test(word) ? word : `'${word}'`);

const message = (error) => (error.stderr || error.message).trim();

/** The versions of a Node. */
async function versionsOf(node) {
  const { stdout } = await run(node, ['-p', '`${process.version}, V8 ${process.versions.v8}`']);
  return stdout.trim();
}

/** Measures the contenders of all cases in turns by a Node. Returns their figures and what failed. */
async function compare(selected, options, node) {
  const figures = new Map();
  const failures = [];
  const cases = selected.flatMap((group) => group.cases);
  for (const [i, one] of cases.entries()) {
    process.stderr.write(`${i + 1}/${cases.length} ${one.name}\n`);
    const contenders = Object.entries(contendersOf(one));
    const taken = new Map(contenders.map(([name]) => [name, []]));
    const inGoals = wanted(one);
    for (let turn = 0; turn < options.runs; turn++) {
      for (const [name, { often = 1 }] of contenders) {
        for (let again = 0; again < often && taken.has(name); again++) {
          try {
            const alone = await measured(one.name, name, options, node);
            const mixed = inGoals.has(name) ? await measured(one.name, name, options, node, true) : undefined;
            taken.get(name).push({ ...alone, mixed: mixed?.median });
          } catch (error) {
            taken.delete(name);
            failures.push(`${one.name}, ${name}: ${message(error)}`);
          }
        }
      }
    }
    figures.set(one.name, new Map([...taken].map(([name, all]) => [name, middle(all)])));
  }
  return { figures: (name, contender) => figures.get(name)?.get(contender), failures };
}

/** The contenders of a case that a goal is about; contenders with a process each have no mixed figure. */
function wanted({ ours = {}, peers }) {
  const goals = Object.entries(ours).filter(([, { contender, goal }]) => goal && contender.loop);
  const names = goals.flatMap(([name, { goal }]) => [name, goal.above]);
  return new Set(names.filter((name) => ours[name] || peers[name]?.loop));
}

const middle = (all) => ({
  median: median(all.map((one) => one.median)),
  mean: all[0].mean === undefined ? undefined : median(all.map(({ mean }) => mean)),
  mixed: all[0].mixed === undefined ? undefined : median(all.map(({ mixed }) => mixed)),
});

/** Runs every contender once, as many at a time as there are CPUs. Returns how many there were and what failed. */
async function check(selected, node) {
  const all = selected.flatMap(({ cases }) =>
    cases.flatMap((one) => Object.keys(contendersOf(one)).map((name) => [one.name, name])),
  );
  const failures = [];
  const left = all.values();
  const lane = async () => {
    for (const [name, contender] of left) {
      try {
        await measured(name, contender, { milliseconds: 4, check: true }, node);
      } catch (error) {
        failures.push(`${name}, ${contender}: ${message(error)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, lane));
  return { count: all.length, failures };
}

async function main() {
  const options = parse();
  if (options.help) {
    process.stdout.write(HELP);
    return;
  }
  const selected = chosen(options.names);
  if (!selected.length) throw new Error('no case has such a name; --list lists them');
  if (options.list) {
    for (const { cases } of selected) for (const { name } of cases) console.log(name);
    return;
  }
  for (const [path, how] of [
    ['node_modules', 'npm install in js/bench'],
    ['../dist', 'npm run build in js'],
  ]) {
    if (!existsSync(new URL(path, import.meta.url))) throw new Error(`js/bench/${path} is missing: ${how}`);
  }
  if (options.check) {
    for (const node of options.node) {
      const { count, failures } = await check(selected, node);
      console.log(`${count - failures.length} of ${count} contenders work in Node ${await versionsOf(node)}`);
      report(failures);
    }
    return;
  }
  const sections = [];
  for (const node of options.node) {
    const name = `Node ${await versionsOf(node)}`;
    process.stderr.write(`${name}\n`);
    sections.push({ name, ...(await compare(selected, options, node)) });
  }
  const command = ['node main.mjs', ...process.argv.slice(2).map(quoted)].join(' ');
  const text = page(selected, sections, setting(command, options));
  process.stdout.write(text);
  if (options.output) await writeFile(options.output, text);
  const misses = sections.reduce((sum, { figures }) => sum + missed(selected, figures), 0);
  // That is no error: a shared machine cannot promise a time.
  process.stderr.write(misses ? `${misses} goals missed\n` : 'every goal met\n');
  report(sections.flatMap(({ failures }) => failures));
}

function report(failures) {
  for (const failure of failures) console.error(failure);
  if (failures.length) process.exitCode = 1;
}

await main().catch((error) => {
  console.error(`bench: ${error.message}`);
  process.exitCode = 2;
});
