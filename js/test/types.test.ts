import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const root = new URL('../', import.meta.url).pathname;

/** A part of the schema of documents. */
interface Schema {
  $ref?: string;
  anyOf?: Schema[];
  enum?: unknown[];
  examples?: unknown[];
  default?: unknown;
  properties?: { [name: string]: Schema };
}

const { $defs } = JSON.parse(readFileSync(`${root}../policy/schema.json`, 'utf8')) as {
  $defs: { [name: string]: Schema };
};
const of = ($ref = ''): Schema => $defs[$ref.replace('#/$defs/', '')] ?? {};
/** The values of a setting that the schema shows, those that it lists, and the default. */
const valuesOf = ({ examples = [], enum: words = [], default: value, $ref }: Schema): unknown[] =>
  [...examples, ...words, value, ...($ref ? valuesOf(of($ref)) : [])].filter((given) => given !== undefined);

/** Steps with each mechanism, each of its settings and each value that the schema has of it. */
function steps(): [mechanism: string, setting: string, step: string][] {
  const all: [string, string, string][] = [];
  for (const [mechanism, { $ref }] of Object.entries($defs.step?.properties ?? {})) {
    const schema = of($ref);
    const settings = of(`${mechanism}Settings`).properties ?? {};
    for (const value of schema.examples ?? [])
      all.push([mechanism, '', JSON.stringify({ [mechanism]: value })]);
    const whole = (schema.examples ?? []).find((value) => typeof value === 'object') as object;
    for (const [setting, part] of Object.entries(settings)) {
      for (const value of valuesOf(part)) {
        // What a hedge has either of.
        const beside = setting === 'parallel' && value ? {} : whole;
        const step = { [mechanism]: { ...beside, [setting]: value } };
        all.push([mechanism, setting, JSON.stringify(step)]);
      }
    }
  }
  return all;
}

test('the types accept every setting of the schema', () => {
  const all = steps();
  const mechanisms = Object.keys($defs.step?.properties ?? {});
  for (const mechanism of mechanisms) {
    expect(all.filter(([name]) => name === mechanism).length).toBeGreaterThan(3);
  }
  const folder = `${root}test/.types`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  const code = all.map(([, , step]) => `  ${step},`).join('\n');
  const first = "import type { Step } from '@sluice/core';\n\nexport const steps: Step[] = [\n";
  writeFileSync(`${folder}/steps.ts`, `${first}${code}\n];\n`);
  const config = {
    extends: '../../tsconfig.json',
    compilerOptions: {
      noEmit: true,
      emitDeclarationOnly: false,
      declaration: false,
      rootDir: '../..',
      paths: { '@sluice/core': ['../../src/index.ts'] },
    },
    include: ['*.ts', '../../src/modules.d.ts'],
  };
  writeFileSync(`${folder}/tsconfig.json`, JSON.stringify(config));
  try {
    execFileSync('npx', ['tsc', '-p', folder], { cwd: root, stdio: 'pipe' });
  } catch (error) {
    const lines = (error as { stdout: Buffer }).stdout.toString().matchAll(/steps\.ts\((\d+),\d+\): (.*)/g);
    const wrong = [...lines].map(([, line, text]) => `${all[Number(line) - 4]?.join(' ')}: ${text}`);
    throw new Error(wrong.join('\n'));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
