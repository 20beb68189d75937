// What every consumer does with the package. Time is virtual and nothing is
// random, so the same package gives the same report on every runtime.

export async function exercise(core, testing) {
  const clock = testing.virtualClock();
  const report = {};

  const limiter = core.rateLimiter({ rate: '2/1s', wait: '1s', queue: 2, clock });
  const kinds = [];
  const deaf = limiter.on(({ kind }) => kinds.push(kind));
  const caller = new AbortController();
  report.limiter = [limiter.tryAcquire(), limiter.tryAcquire(), limiter.tryAcquire(), limiter.peek()];
  const served = limiter.acquire();
  const left = limiter.acquire({ signal: caller.signal }).catch((reason) => reason);
  caller.abort('left');
  await clock.advance(500);
  report.waited = [await served, await left, clock.now()];
  deaf();
  report.events = kinds;

  const tenants = core.rateLimiter.keyed({ rate: '1/1s', clock });
  report.keyed = ['a', 'a', 'b'].map((key) => tenants.tryAcquire(key).ok).concat(tenants.size);

  const heir = core.rateLimiter({ rate: '2/1s', wait: '1s', queue: 2, clock });
  report.restored = [heir.restore(JSON.parse(JSON.stringify(limiter.snapshot()))), heir.tryAcquire().ok];

  const watching = core.rateLimiter({ rate: '1/1h', shadow: true, clock });
  report.shadow = [watching.tryAcquire().ok, watching.tryAcquire().ok];

  const breaker = core.circuitBreaker({ window: { consecutive: 2 }, open: '10s', probes: 1, clock });
  const fail = async () => {
    throw new Error('down');
  };
  report.breaker = [breaker.state];
  for (let i = 0; i < 2; i++) await breaker.execute(fail).catch(() => {});
  report.breaker.push(breaker.state, await breaker.attempt(fail));
  await clock.advance(10_000);
  report.breaker.push(breaker.state, await breaker.execute(() => 'up'), breaker.state);

  const places = core.bulkhead({ concurrent: 1, clock });
  const place = places.tryAcquire();
  report.bulkhead = [place.ok, places.tryAcquire()];
  place.release();
  report.bulkhead.push(places.tryAcquire().ok);

  const begun = clock.now();
  const retries = core.retry({ attempts: 3, backoff: { constant: '1s' }, jitter: 'none', clock });
  const third = retries.execute(({ attempt }) => (attempt < 3 ? fail() : attempt));
  await clock.advance(2_000);
  report.retry = [await third, clock.now() - begun];

  const cut = core.timeout({ after: '1s', clock });
  let signal;
  const never = (attempt) => {
    signal = attempt.signal;
    return new Promise(() => {});
  };
  const late = cut.execute(never).catch((error) => error);
  await clock.advance(1_000);
  const timedOut = await late;
  report.timeout = [timedOut instanceof core.TimeoutError, timedOut.step, signal.aborted];

  const steps = [{ retry: { attempts: 2, backoff: 'none' } }, { limit: { name: 'vendor', rate: '1/1m' } }];
  const vendor = core.pipeline(steps, { clock });
  const refused = await vendor.execute(fail).catch((error) => error);
  report.pipeline = [refused instanceof core.RejectedError, refused.step, refused.reason, refused.retryAfter];

  const hands = core.pipeline([{ breaker: { window: { consecutive: 1 } } }, { bulkhead: { concurrent: 1, queue: 1 } }], { clock });
  const changes = [];
  hands.on('change', ({ step, state }) => changes.push(step, state));
  const pass = hands.tryAcquire();
  const turn = hands.acquire();
  report.byHand = [pass.ok, hands.tryAcquire().reason, hands.step('bulkhead').counts()];
  pass.success();
  (await turn).failure();
  report.byHand.push(hands.step('breaker').state(), changes, hands.tryAcquire().reason, hands.running);

  const hosts = core.circuitBreaker.keyed({ window: { consecutive: 1 }, clock });
  await hosts.execute(fail, { key: 'a' }).catch(() => {});
  report.keyedBreaker = [hosts.state('a'), hosts.state('b'), hosts.keys(), hosts.evict('a')];

  const document = { version: 1, policies: { vendor: { steps, fallback: { status: 503, body: 'later' } } } };
  const waiting = core.policy(document, { clock });
  report.policy = [await waiting.attempt(() => 1), (await waiting.attempt(() => 2)).reason];

  let sent = 0;
  const get = core.resilientFetch(document, {
    clock,
    fetch: async () => {
      sent++;
      return new Response('broken', { status: 500 });
    },
  });
  const answer = await get('http://localhost/');
  report.fetch = [answer.status, await answer.text(), sent];

  report.evaluate = testing.evaluate(document, [
    { at: '0s', op: 'call', id: 1 },
    { at: '1s', op: 'done', id: 1, outcome: 'ok' },
    { at: '2s', op: 'call', id: 2 },
  ]);

  try {
    core.rateLimiter({ rate: '2/1s', brust: 3 });
  } catch (error) {
    const [problem] = error.problems;
    report.error = [error instanceof core.PolicyError, error.code, problem.path, problem.nearest];
  }
  report.clock = typeof core.systemClock().now();
  return report;
}
