// Uses the entries of one mechanism each; the caller imports or requires them.

export async function mechanisms(limiter, breaker, retry) {
  let now = 0;
  const clock = {
    now: () => now,
    setTimeout(callback, milliseconds) {
      now += milliseconds;
      queueMicrotask(callback);
    },
    clearTimeout() {},
  };

  const limit = limiter.rateLimiter({ rate: '1/1s', clock });
  const tenants = limiter.rateLimiter.keyed({ rate: '1/1s', clock });
  const circuit = breaker.circuitBreaker({ window: { consecutive: 1 }, open: '1m', clock });
  const retries = retry.retry({ attempts: 3, backoff: { constant: '1s' }, jitter: 'none', clock });

  const report = { limiter: [limit.tryAcquire().ok, limit.tryAcquire()] };
  report.keyed = ['a', 'a', 'b'].map((key) => tenants.tryAcquire(key).ok);
  const pass = circuit.tryAcquire();
  pass.failure();
  report.breaker = [pass.ok, circuit.tryAcquire(), circuit.state];
  const attempts = await retries.execute(({ attempt }) => {
    if (attempt < 3) throw new Error('down');
    return attempt;
  });
  report.retry = [attempts, now];
  report.exports = [limiter, breaker, retry].map((entry) => Object.keys(entry).sort());
  return report;
}
