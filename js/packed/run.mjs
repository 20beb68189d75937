import { execFile, execFileSync } from 'node:child_process';
import { inject } from 'vitest';

/**
 * Runs a program to its end and gives what it printed. Rejects with all of it
 * when the program fails or hangs.
 */
export const run = (cwd, program, ...args) =>
  new Promise((resolve, reject) => {
    const options = { cwd, timeout: 180_000, maxBuffer: 2 ** 26 };
    execFile(program, args, options, (error, stdout, stderr) => {
      if (error)
        reject(new Error(`${program} ${args.join(' ')}: ${error.code ?? error.signal}\n${stdout}${stderr}`));
      else resolve(stdout);
    });
  });

/** The folder of a consumer, as the setup installed it. */
export const project = (name) => `${inject('root')}/${name}`;

/** Runs a file of a consumer with Node and reads what it printed as JSON. */
export const node = async (name, ...args) => JSON.parse(await run(project(name), process.execPath, ...args));

/** The path of a program, undefined where it is not installed. */
export function find(...programs) {
  for (const program of programs) {
    try {
      return execFileSync('sh', ['-c', 'command -v "$1"', 'sh', program], { encoding: 'utf8' }).trim();
    } catch {
      // The next one may be there.
    }
  }
  return undefined;
}
