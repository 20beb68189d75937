/** The listeners and hooks whose first error was printed. */
const reported = new WeakSet<object>();

function report(error: unknown, owner: object): void {
  if (reported.has(owner)) return;
  reported.add(owner);
  console.error('@sluice/core: a listener or hook failed; its further errors are not printed:', error);
}

/**
 * Calls a listener or a hook with an argument. Its errors have no caller: the first one of each
 * owner is printed, whether it was thrown or rejected.
 */
export function guard<T>(call: (argument: T) => unknown, argument: T, owner: object): void {
  try {
    const result = call(argument) as PromiseLike<unknown> | undefined;
    if (typeof result?.then === 'function') result.then(undefined, (error) => report(error, owner));
  } catch (error) {
    report(error, owner);
  }
}
