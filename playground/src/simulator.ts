// Workers with the simulator.

export interface Order {
  module: WebAssembly.Module;
  json: string;
  seed: string | undefined;
  /** The document is read and nothing is simulated. */
  checks: boolean;
}

export type Answer =
  | { kind: 'checked' }
  | { kind: 'error'; text: string }
  | { kind: 'progress'; part: number }
  | { kind: 'result'; result: string; lanes: string };

export interface Finished {
  result: string;
  lanes: string;
}

/** What is wrong with a document, or with a run. */
export class SimulationError extends Error {}

let compiled: Promise<WebAssembly.Module> | undefined;

/** Runs a scenario, or checks it. The signal ends the worker, and the promise is never settled then. */
export async function simulate(
  json: string,
  options: {
    seed?: string | undefined;
    checks?: boolean;
    signal: AbortSignal;
    progress?: (part: number) => void;
  },
): Promise<Finished | undefined> {
  compiled ??= WebAssembly.compileStreaming(fetch('sim.wasm'));
  const module = await compiled;
  return new Promise((resolve, reject) => {
    if (options.signal.aborted) return;
    const worker = new Worker('worker.js', { type: 'module' });
    const over = (): void => worker.terminate();
    options.signal.addEventListener('abort', over);
    worker.addEventListener('error', ({ message }) => {
      over();
      reject(new SimulationError(message));
    });
    worker.addEventListener('message', ({ data }: MessageEvent<Answer>) => {
      if (data.kind === 'progress') return options.progress?.(data.part);
      over();
      if (data.kind === 'error') reject(new SimulationError(data.text));
      else resolve(data.kind === 'result' ? { result: data.result, lanes: data.lanes } : undefined);
    });
    const order: Order = { module, json, seed: options.seed, checks: options.checks ?? false };
    worker.postMessage(order);
  });
}
