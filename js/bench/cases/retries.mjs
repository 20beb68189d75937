import { awaited, failure, WORTH, work } from '../kinds.mjs';

const ours = (options, task) =>
  awaited(async () => {
    const { retry } = await import('@sluice/core');
    const retries = retry(options);
    const use = task();
    return () => retries.execute(use);
  });

const cockatiel = (version, options, task) =>
  awaited(async () => {
    const its = await import(version);
    const policy = its.retry(its.handleAll, options(its));
    const use = task();
    return () => policy.execute(use);
  });

/** A function of a package that takes the task and options. */
const by = (load, options, task) =>
  awaited(async () => {
    const retry = await load();
    const use = task();
    return () => retry(use, options);
  });

const pRetry = async () => (await import('p-retry')).default;
const asyncRetry = async () => (await import('async-retry')).default;
const backOff = async () => (await import('exponential-backoff')).backOff;

const succeeding = () => work;

/** Fails every other time. */
function alternating() {
  let fails = false;
  return async () => {
    fails = !fails;
    if (fails) throw failure;
    return WORTH;
  };
}

const backedOff = ({ ExponentialBackoff }) => ({ maxAttempts: 2, backoff: new ExponentialBackoff() });
const atOnce = ({ ConstantBackoff }) => ({ maxAttempts: 1, backoff: new ConstantBackoff(0) });

export default {
  title: 'Retries',
  about:
    'Three attempts at most, of which the first succeeds; then two, without a delay, of which the second succeeds.',
  cases: [
    {
      name: 'retry, first attempt',
      ours: { execute: { contender: ours(3, succeeding) } },
      peers: {
        cockatiel: cockatiel('cockatiel', backedOff, succeeding),
        'cockatiel 4': cockatiel('cockatiel-4', backedOff, succeeding),
        'p-retry': by(pRetry, { retries: 2 }, succeeding),
        'async-retry': by(asyncRetry, { retries: 2 }, succeeding),
        'exponential-backoff': by(backOff, { numOfAttempts: 3 }, succeeding),
      },
    },
    {
      name: 'retry, second attempt',
      ours: { execute: { contender: ours({ attempts: 2, backoff: 'none' }, alternating) } },
      peers: {
        cockatiel: cockatiel('cockatiel', atOnce, alternating),
        'p-retry': by(pRetry, { retries: 1, minTimeout: 0 }, alternating),
        'async-retry': by(asyncRetry, { retries: 1, minTimeout: 0 }, alternating),
        'exponential-backoff': by(backOff, { numOfAttempts: 2, startingDelay: 0 }, alternating),
      },
    },
  ],
};
