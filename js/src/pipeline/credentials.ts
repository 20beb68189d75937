/** Whether the value of an attribute is a credential. */
export const isCredential = (attribute: string): boolean => /^header:(proxy-)?authorization$/.test(attribute);

/** A text without white space around it. In one pass: it is what a client sends. */
export const trimmed = (text: string): string => /^[ \t]*(.*[^ \t])?/s.exec(text)?.[1] ?? '';

/** A scheme is of ASCII. */
const lower = (text: string): string => text.toLowerCase();

/**
 * A credential in the one form for all its spellings: without white space around it, the scheme in lower case, and one
 * space behind the scheme (RFC 9110, section 11.4).
 */
export const credentialOf = (text: string): string =>
  trimmed(text).replace(/^([^ \t]+)[ \t]+/, (_, scheme: string) => `${scheme.replace(/[A-Z]/g, lower)} `);
