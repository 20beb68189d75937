import { duration, Fields, LIKE, type Numbers, share, word, wrong } from './values.js';

const KINDS = ['none', 'constant', 'linear', 'exponential', 'fibonacci', 'decorrelated'];
const JITTERS = word('none', 'full', 'equal');
/** The kind of jitter that has a share. */
const FRACTION = 3;

const factor = (value: unknown): number | undefined => {
  const millionths = typeof value === 'number' ? Math.round(value * 1e6) : 0;
  return millionths >= 1e6 && millionths <= 1e9 ? millionths : undefined;
};

/** The numbers of a backoff and its jitter. */
export function backoffNumbers(path: string, value: unknown, jitter: unknown): Numbers {
  const [kind, ...numbers] = delays(path, value);
  const drawn = kind !== 0 && kind !== KINDS.indexOf('decorrelated');
  return [kind, ...numbers, ...jitterNumbers(path, jitter, drawn)];
}

function delays(path: string, value: unknown): [kind: number, base: number, factor: number, max: number] {
  if (value === 'none') return [0, 0, 0, 0];
  const name = KINDS.find((kind) => Object.hasOwn(Object(value), kind));
  if (!name || typeof value !== 'object') {
    return wrong(path, value, `none, or an object with ${KINDS.slice(1).join(', ')}`);
  }
  const exponential = name === 'exponential';
  const allowed = [
    name,
    ...(exponential ? ['factor'] : []),
    ...(name === 'constant' ? [] : ['max']),
    'jitter',
  ];
  const fields = new Fields(path, value, allowed);
  return [
    KINDS.indexOf(name),
    fields.read(name, duration, LIKE.duration),
    fields.read('factor', factor, '1 to 1000 with at most 6 decimals', exponential ? 2e6 : 0),
    fields.read('max', duration, LIKE.duration, exponential ? 6e4 : 0),
  ];
}

function jitterNumbers(path: string, jitter: unknown, drawn: boolean): Numbers {
  if (jitter === undefined) return [drawn ? 1 : 0, 0];
  const kind = JITTERS(jitter);
  if (!drawn && kind !== 0) wrong(`${path}.jitter`, jitter, 'none, where no delay is to be drawn from');
  if (kind !== undefined) return [kind, 0];
  return [FRACTION, share(jitter) ?? wrong(`${path}.jitter`, jitter, `none, full, equal or ${LIKE.share}`)];
}
