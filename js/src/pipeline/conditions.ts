import { clientOf, lies, prefixOf } from '../base/prefixes.js';
import type { Engine } from '../engine/engine.js';
import {
  CONDITIONS_ALLOWED,
  CONDITIONS_DENIED,
  CONDITIONS_HOLD,
  SLOT_APPLIES,
  SLOT_DECIDES,
} from '../generated/abi.js';
import { bytesOf, textOf } from '../reader/bytes.js';
import type { Condition, Entry, ReadPolicy } from '../reader/result.js';
import { credentialOf, isCredential } from './credentials.js';
import { type Attributes, keyOf, valuesOf } from './keys.js';

/** Whether the values of the attributes of a call match. */
type Test = (values: readonly string[]) => boolean;

/** What the attributes of a call say about the steps of a plan. */
export interface Conditions {
  /** The attributes that are asked for, each once. */
  readonly attributes: readonly string[];
  readonly deny: Test;
  readonly allow: Test;
  /** The steps that apply to some calls alone. */
  readonly when: readonly { readonly bit: number; readonly test: Test }[];
  /** The steps that enforce for a share of the calls by an attribute: its index, and whether a value belongs to it. */
  readonly shares: readonly {
    readonly bit: number;
    readonly at: number;
    readonly has: (value: string) => boolean;
  }[];
}

const PRIME = 16777619;

/** Continues an FNV-1a hash of 32 bits by a string of bytes. */
function add(hash: number, bytes: string): number {
  let h = hash;
  for (let i = 0; i < bytes.length; i++) h = Math.imul(h ^ bytes.charCodeAt(i), PRIME);
  return h;
}

/** Whether a value belongs to a share, in millionths, of the step of a name: as the core has it. */
export function belongs(share: number, step: string, value: string): boolean {
  let h = add(Math.imul(add(2166136261, step), PRIME), bytesOf(value));
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return Math.floor((((h ^ (h >>> 16)) >>> 0) * 1e6) / 2 ** 32) < share;
}

/** What a plan asks of the attributes of calls; undefined where it asks nothing. */
export function conditionsOf({ steps, allow = [], deny = [] }: ReadPolicy): Conditions | undefined {
  const attributes: string[] = [];
  const indexOf = (bytes: string): number => {
    const name = textOf(bytes);
    if (!attributes.includes(name)) attributes.push(name);
    return attributes.indexOf(name);
  };
  const entry = ({ attribute, values: bytes }: Entry): Test => {
    const at = indexOf(attribute);
    const values = new Set(bytes.map(textOf));
    if (isCredential(textOf(attribute))) {
      const credentials = new Set([...values].map(credentialOf));
      return (of) => credentials.has(credentialOf(of[at] as string));
    }
    if (attribute !== 'ip') return (of) => values.has(of[at] as string);
    const prefixes = [...values].flatMap((value) => prefixOf(value) ?? []);
    return (of) => {
      const value = of[at] as string;
      const client = value ? clientOf(value) : undefined;
      return client ? prefixes.some((prefix) => lies(client, prefix)) : !value && values.has(value);
    };
  };
  const test = (condition: Condition): Test => {
    const cases = condition.map(({ all, none }) => ({ all: all.map(entry), none: none.map(entry) }));
    return (of) => cases.some(({ all, none }) => all.every((one) => one(of)) && !none.some((one) => one(of)));
  };
  const conditions = {
    attributes,
    deny: test(deny),
    allow: test(allow),
    when: steps.flatMap(({ when }, i) => (when.length ? { bit: 1 << i, test: test(when) } : [])),
    shares: steps.flatMap(({ name, enforce: { of, by } }, i) =>
      by && of < 1e6
        ? {
            bit: 1 << i,
            at: indexOf(by),
            has: (value: string) => belongs(of, name, keyOf(textOf(by), value)),
          }
        : [],
    ),
  };
  return attributes.length ? conditions : undefined;
}

const skipped = ({ when }: Conditions, values: readonly string[]): number =>
  when.reduce((mask, { bit, test }) => (test(values) ? mask : mask | bit), 0);

/** The steps that a call does not pass, a bit each: all of them where the policy denies or allows it. */
export function skippedBy(
  conditions: Conditions | undefined,
  key: string | undefined,
  given: Attributes | undefined,
): number {
  if (!conditions) return 0;
  const values = valuesOf(conditions.attributes, key, given);
  return conditions.deny(values) || conditions.allow(values) ? -1 : skipped(conditions, values);
}

/** Puts what the attributes of a call say about the steps into the slots, for its `begin`. */
export function putConditions(
  engine: Engine,
  conditions: Conditions,
  key: string | undefined,
  given: Attributes | undefined,
): void {
  const { attributes, deny, allow, shares } = conditions;
  const values = valuesOf(attributes, key, given);
  let applies = 0;
  let decides = CONDITIONS_HOLD;
  if (deny(values)) decides |= CONDITIONS_DENIED;
  else if (allow(values)) decides |= CONDITIONS_ALLOWED;
  else {
    applies = skipped(conditions, values);
    for (const { bit, at, has } of shares) {
      const value = values[at] as string;
      if (!value) continue;
      decides |= bit;
      if (!has(value)) applies |= bit << 16;
    }
  }
  const slots = engine.words();
  slots[SLOT_APPLIES] = applies;
  slots[SLOT_DECIDES] = decides;
}
