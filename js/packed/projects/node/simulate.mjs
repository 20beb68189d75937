/** What a simulation gives. */
export async function simulated({ simulate }) {
  const runs = await simulate({
    version: 1,
    duration: '1m',
    policies: { vendor: { steps: [{ breaker: { window: { time: '2s' }, minimum: 10, open: '1s' } }] } },
    clients: [{ name: 'web', to: 'vendor', policy: 'vendor', arrivals: { poisson: '50/s' } }],
    services: [{ name: 'vendor', time: '10ms', servers: 8, faults: [{ at: '20s', for: '10s', fail: '100%' }] }],
  });
  runs.requireOpensWithin('2s').requireRecovers('3s');
  let error;
  try {
    runs.requireStaysClosed();
  } catch ({ name, seed }) {
    error = { name, seed };
  }
  return { verdict: runs.result.verdict, calls: runs.result.clients.web.calls, error };
}
