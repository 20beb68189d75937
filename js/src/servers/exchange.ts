// What the adapters of frameworks with callbacks share: the answer is written by another function, later.

import { type Gate, isAnswer } from './admission.js';
import type { Answer, Fields } from './answers.js';

/** An answer that is being written. */
export interface Exchange {
  /** Adds headers, beside those that another guard has set. */
  add(headers: Fields): void;
  /** Writes a whole answer, unless its headers are sent. */
  answer(answer: Answer): void;
  /** The status of an answer that was written to its end. */
  status(): number | undefined;
  /** Calls back once, when the answer is written or the client has gone. */
  onClose(callback: () => void): void;
}

/** Guards one request: `next` continues it. */
export async function exchange<R extends object>(
  gate: Gate<R>,
  request: R,
  out: Exchange,
  next: (error?: unknown) => void,
): Promise<void> {
  const gone = new AbortController();
  out.onClose(() => gone.abort());
  try {
    const verdict = await gate.admit(request, request, gone.signal);
    if (isAnswer(verdict)) {
      out.answer(verdict);
      return;
    }
    if (gone.signal.aborted) {
      verdict.end(undefined);
      return;
    }
    out.onClose(() => verdict.end(out.status()));
    verdict.whenCut((answer) => out.answer(answer));
    out.add(verdict.headers);
  } catch (error) {
    if (!gone.signal.aborted) next(error);
    return;
  }
  next();
}
