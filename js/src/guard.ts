/** The listeners and hooks whose first error was printed. */
const reported = new WeakSet<object>();

/**
 * Calls a listener or a hook whose errors have no caller: the first one of each
 * owner is printed, whether it was thrown or rejected.
 */
export function guard(call: () => unknown, owner: object): void {
  const report = (error: unknown): void => {
    if (reported.has(owner)) return;
    reported.add(owner);
    console.error('@sluice/core: a listener or hook failed; its further errors are not printed:', error);
  };
  try {
    const result = call() as PromiseLike<unknown> | undefined;
    if (typeof result?.then === 'function') result.then(undefined, report);
  } catch (error) {
    report(error);
  }
}
