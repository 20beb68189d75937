// node test/reader.mjs: reads cases from standard input, a line of JSON each, and answers what
// the reader makes of them, a line of JSON each: plan bytes in base64, or the text of the error.

import { createInterface } from 'node:readline';
import { build } from 'esbuild';

const { outputFiles } = await build({
  stdin: {
    contents: `
      export * from './src/reader/alone.js';
      export { readDocument } from './src/reader/document.js';
      export { encode } from './src/reader/encode.js';
      export { MECHANISMS } from './src/generated/mechanisms.js';
      export { READERS } from './src/reader/mechanisms.js';
      export { readPolicy } from './src/reader/policy.js';
      export { readAlone, readSource } from './src/reader/read.js';`,
    resolveDir: new URL('..', import.meta.url).pathname,
  },
  bundle: true,
  write: false,
  format: 'esm',
  target: 'es2022',
});
const reader = await import(
  `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`
);

/** Plan bytes, or the text of the error. */
function answer(read) {
  try {
    return { plan: Buffer.from(reader.encode(read()), 'latin1').toString('base64') };
  } catch (error) {
    return { error: error.name === 'PolicyError' ? error.message : error.stack };
  }
}

/** What is read of a whole document with a name, of the body of a policy without. */
const sourceOf = (source, name) =>
  answer(() =>
    reader.readSource(source, (problems, root) =>
      name === undefined ? reader.readPolicy(problems, root) : reader.readDocument(problems, root, name),
    ),
  );

const same = (a, b) => a.plan === b.plan && a.error === b.error;

/** An answer to a text as that to its value: without places. */
const placeless = ({ plan, error }) => ({ plan, error: error?.replace(/^policy(:\d+:\d+)?: /gm, '') });

/** Whether values are read as their JSON is. What JSON does not have at all is refused in either. */
function agrees(value, name) {
  const text = sourceOf(JSON.stringify(value), name);
  const read = sourceOf(value, name);
  if (/^policy(:\d+:\d+)?: found/.test(text.error)) return read.error !== undefined;
  return same(read, placeless(text)) && (value?.steps?.length === 1 ? agreesAlone(value.steps[0]) : true);
}

/** Whether the options of a mechanism alone are read as the options of a step, also by an entry that has nothing else. */
function agreesAlone(step) {
  const [[name, options] = []] = Object.entries(step ?? {});
  const mechanism = reader.MECHANISMS[name];
  if (!mechanism || Object.keys(step).length !== 1 || options == null) return true;
  // The settings of keys, of calls, of classes, of costs and of charges are of pipelines alone, and budgets, refusals and methods are in no entry of retries alone.
  if (
    [
      'per',
      'keys',
      'when_full',
      'missing',
      'cost',
      'charge',
      'counts',
      'when',
      'enforce',
      'class',
      'rates',
    ].some((one) => Object.hasOwn(Object(options), one))
  )
    return true;
  const small = ['budget', 'refusals', 'methods'].some((one) => Object.hasOwn(Object(options), one))
    ? undefined
    : reader[`${name}Alone`]?.readers;
  const { plan, error } = placeless(sourceOf(JSON.stringify({ steps: [step] })));
  const want = { plan, error: error?.replaceAll('steps[0].', '') };
  return [reader.READERS, small ?? reader.READERS].every((readers) =>
    same(
      answer(() => ({ steps: [reader.readAlone(options, { mechanism, readers })], fallback: false })),
      want,
    ),
  );
}

for await (const line of createInterface({ input: process.stdin })) {
  const { source, name } = JSON.parse(line);
  const bytes = Buffer.from(source, 'base64');
  let agree = true;
  try {
    agree = agrees(JSON.parse(bytes.toString()), name);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  console.log(JSON.stringify({ ...sourceOf(bytes, name), agree }));
}
