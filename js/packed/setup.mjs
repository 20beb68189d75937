// Builds and packs the package once, and installs the tarball in a copy of every
// project, in a temporary folder: nothing of the source tree is above them.

import { cp, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from './run.mjs';

const packed = import.meta.dirname;
const js = join(packed, '..');

export default async function setup({ provide }) {
  const root = await mkdtemp(join(tmpdir(), 'sluice-packed-'));
  const teardown = () => rm(root, { recursive: true, force: true });
  try {
    await run(js, 'npm', 'run', 'build');
    await run(js, 'npm', 'pack', '--pack-destination', root);
    const [tarball] = (await readdir(root)).filter((name) => name.endsWith('.tgz'));
    await rename(join(root, tarball), join(root, 'core.tgz'));
    const projects = (await readdir(join(packed, 'projects'))).filter((name) => name !== 'shared');
    await Promise.all(projects.map((name) => install(root, name)));
  } catch (error) {
    await teardown();
    throw error;
  }
  provide('root', root);
  return teardown;
}

async function install(root, name) {
  const folder = join(root, name);
  await cp(join(packed, 'projects', name), folder, { recursive: true });
  await cp(join(packed, 'projects/shared'), folder, { recursive: true });
  await run(
    folder,
    'npm',
    'install',
    '--no-audit',
    '--no-fund',
    '--no-package-lock',
    '--ignore-scripts',
    '--prefer-offline',
  );
}
