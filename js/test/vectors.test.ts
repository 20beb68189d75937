import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
// @ts-expect-error it has no types
import { decode as decodeVectors } from '../../vectors/replay.mjs';
import type { Engine } from '../src/engine/engine.js';
import { SLOT_APPLIES, SLOT_COSTS, SLOT_DECIDES, SLOT_PRICED } from '../src/generated/abi.js';
import { conditionsOf, putConditions } from '../src/pipeline/conditions.js';
import { putCosts } from '../src/pipeline/costs.js';
import type { Layout } from '../src/pipeline/plan.js';
import { textOf } from '../src/reader/bytes.js';
import { readPolicy } from '../src/reader/policy.js';
import { readSource } from '../src/reader/read.js';

/** What attributes say about a policy, as ../../vectors/doc.go has it. */
interface Said {
  readonly applies: number;
  readonly decides: number;
  readonly priced: number;
  readonly costs: readonly number[];
}

/** A suite of the vectors, as far as it is about attributes. */
interface Suite {
  readonly name: string;
  readonly policies: readonly Uint8Array[];
  readonly sets: readonly { readonly attributes: readonly string[]; readonly says: readonly Said[] }[];
}

const decode = decodeVectors as (bytes: Uint8Array) => Suite[];

/** What the attributes of a call say about a policy. */
function said(body: Uint8Array, attributes: { readonly [name: string]: string }): Said {
  const policy = readSource(body, readPolicy);
  const slots = new Uint32Array(256);
  const engine = { words: () => slots } as unknown as Engine;
  const { key, ...rest } = attributes;
  const conditions = conditionsOf(policy);
  if (conditions) putConditions(engine, conditions, key, rest);
  const steps = policy.steps.flatMap(({ cost }, index) => (cost ? [{ index, attribute: textOf(cost) }] : []));
  putCosts(engine, { priced: steps } as unknown as Layout, rest);
  const at = (slot: number): number => slots[slot] as number;
  const priced = at(SLOT_PRICED);
  const costs = [...slots.subarray(SLOT_COSTS, SLOT_COSTS + 16)].filter((_, i) => priced & (1 << i));
  return { applies: at(SLOT_APPLIES), decides: at(SLOT_DECIDES), priced, costs };
}

test('attributes say to this package what they say to the core', () => {
  const suites = decode(gunzipSync(readFileSync(new URL('../../vectors/v1.bin.gz', import.meta.url))));
  let asked = 0;
  for (const { name, policies, sets } of suites) {
    for (const { attributes, says } of sets) {
      const pairs = attributes.flatMap((one, i) => (i % 2 ? [] : [[one, attributes[i + 1] as string]]));
      says.forEach((want, i) => {
        const got = said(policies[i] as Uint8Array, Object.fromEntries(pairs));
        expect([name, attributes, i, got]).toEqual([name, attributes, i, want]);
        asked++;
      });
    }
  }
  expect(asked).toBeGreaterThan(1000);
});
