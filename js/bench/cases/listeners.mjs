import { atMost, awaited, called, work } from '../kinds.mjs';

const GOAL = atMost(50, 'without a listener');

const STEPS = [
  { timeout: '30s' },
  { retry: 3 },
  { breaker: { window: { consecutive: 5 } } },
  { limit: '1000000000/1s' },
  { timeout: '10s' },
];

/** What listeners do with decisions. */
let seen = 0;
const look = ({ at }) => {
  seen += at;
};

/** A limiter, a breaker or a pipeline with a listener for decisions of a kind, for all without one, or for none. */
const heard = async (make, kinds) => {
  const one = make(await import('@sluice/core'));
  for (const kind of kinds) one.on(...(kind ? [kind, look] : [look]));
  return one;
};

const limits = (...kinds) =>
  called(
    async () => {
      const limiter = await heard(({ rateLimiter }) => rateLimiter('1000000000/1s'), kinds);
      return () => limiter.tryAcquire();
    },
    ({ ok }) => ok,
  );

const executes = (make, ...kinds) =>
  awaited(async () => {
    const guarded = await heard(make, kinds);
    return () => guarded.execute(work);
  });

const breaker = ({ circuitBreaker }) => circuitBreaker({ window: { consecutive: 5 } });
const steps = ({ pipeline }) => pipeline(STEPS);

export default {
  title: 'Listeners',
  about: 'The decision of an admitted call with a listener, beside the same without one. A decision has its time, which is a read of the clock where none was needed before.',
  cases: [
    {
      name: 'listener of a limiter',
      ours: {
        'of admissions, which is called': { contender: limits('admit'), goal: GOAL },
        'of refusals': { contender: limits('reject'), goal: atMost(5, 'without a listener') },
      },
      peers: { 'without a listener': limits() },
    },
    {
      name: 'listener of a breaker',
      ours: {
        'of changes': { contender: executes(breaker, 'change'), goal: GOAL },
        'of ends, which is called': { contender: executes(breaker, 'end') },
      },
      peers: { 'without a listener': executes(breaker) },
    },
    {
      name: 'listener of five steps',
      ours: {
        'of ends, which is called': { contender: executes(steps, 'end'), goal: GOAL },
        'of changes': { contender: executes(steps, 'change'), goal: GOAL },
        'of everything, called twice': { contender: executes(steps, undefined) },
      },
      peers: { 'without a listener': executes(steps) },
    },
  ],
};
