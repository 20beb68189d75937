// What the reader makes of a document.

import type { Node } from './node.js';

/** An attribute and the values of which it has one. Its texts are in bytes. */
export interface Entry {
  readonly attribute: string;
  readonly values: readonly string[];
}

/** What a call must match in all, and of what in none. */
export interface Case {
  readonly all: readonly Entry[];
  readonly none: readonly Entry[];
}

/** A call matches one of the cases. Without a case there is no condition. */
export type Condition = readonly Case[];

/** The share of the calls that a step enforces for, in millionths, and the attribute that decides; 0 for all calls. */
export interface Share {
  readonly of: number;
  readonly by: string;
}

/** The settings of keys. */
export interface KeySettings {
  /** The attributes that it has a cell for each value of. */
  per: readonly string[];
  /** The greatest number of keys, 0 without `per`. */
  keys: number;
  /** The indexes of the words. */
  whenFull: number;
  missing: number;
}

/** A step that was read. Its texts are in bytes. */
export interface Step extends KeySettings {
  /** The name of its mechanism. */
  readonly mechanism: string;
  readonly kind: number;
  name: string;
  shadow: boolean;
  /** The calls that it applies to, and those that it enforces for. */
  when: Condition;
  enforce: Share;
  /** The class of a limit that it is for, empty for none; and the index of the step in the document. */
  className: string;
  at: number;
  /** Whether it has cells. */
  cells: boolean;
  /** The values of its settings for the core. */
  values: readonly (number | bigint | string)[];
  /** Whether the last value is the wall time of mark 0, in nanoseconds. */
  dated: boolean;
  /** The attribute that has the cost of a call, empty for none. */
  cost: string;
  /** The mechanism that it shares with steps of other policies, empty for none. */
  shares: string;
}

/** A mechanism that steps may use; without a step where its error is reported. */
export interface SharedMechanism {
  readonly step?: Step | undefined;
  /** Its entry, with the defaults of the document. */
  readonly entry: Node;
}

/** A policy that was read. */
export interface ReadPolicy {
  readonly steps: readonly Step[];
  readonly fallback: boolean;
  /** The calls that pass without any step, and those that are refused. */
  readonly allow?: Condition;
  readonly deny?: Condition;
  /** The policy without `extends` and `use`, and with the defaults of the document, where it takes something from elsewhere. */
  readonly plain?: Node;
}
