/**
 * The milliseconds that an answer asks to wait (RFC 9110, section 10.2.3): seconds
 * or a date, which counts from the answer's own date where it has one, so that
 * clocks need not agree. Undefined where it does not say.
 */
export function retryAfterOfAnswer(headers: Headers): number | undefined {
  const text = headers.get('retry-after')?.trim();
  if (!text) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1e3;
  const at = Date.parse(text);
  if (Number.isNaN(at)) return undefined;
  return Math.max(0, at - (Date.parse(headers.get('date') ?? '') || Date.now()));
}
