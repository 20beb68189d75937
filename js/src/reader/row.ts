// What the table of mechanisms has, and the values of settings.

/** The form of a setting's value in a document. */
export type Type =
  | 'attribute'
  | 'backoff'
  | 'block_time'
  | 'bool'
  | 'bound'
  | 'budget'
  | 'chance'
  | 'cost'
  | 'count'
  | 'delay'
  | 'duration'
  | 'jitter'
  | 'map'
  | 'methods'
  | 'one_of'
  | 'open_time'
  | 'rate'
  | 'rates'
  | 'share'
  | 'word'
  | 'words'
  | 'zone';

/** What the core gets for a setting, in its order: counts, indexes and millionths as numbers, nanoseconds as bigints. */
export type Values = readonly (number | bigint)[];

/** A name of a mechanism's map of settings. The table in Go says what each means. */
export interface Setting {
  readonly name: string;
  readonly type: Type;
  readonly least?: number;
  readonly most?: number;
  readonly words?: string;
  readonly required?: true;
  readonly says?: string;
  /** The part of a map that may be there in place of a required one. */
  readonly or?: string;
  /** A variant of a `one_of`. What is behind it, up to the next one, belongs to it. */
  readonly variant?: true;
  readonly parts?: readonly Setting[];
  /** The part of a map whose value may be in place of the map. */
  readonly short?: string;
  /**
   * Of a map that the core gets only where it is given, and of a zone that it gets only beside a rate by the calendar:
   * the bit that says so, of the byte behind the words before it.
   */
  readonly bit?: number;
  /** Its values where it is not there and nothing else changes them. */
  readonly default?: Values;
}

/** The attribute of the values of a cost in bytes, empty for none. */
export const attributeOf = ([, ...bytes]: Values): string => String.fromCharCode(...bytes.map(Number));

/** A row of the table of mechanisms. */
export interface Row {
  readonly kind: number;
  readonly name: string;
  /** The setting whose value may be in place of the map. */
  readonly short?: string;
  /** The setting that such a value may have meant where there is no short form. */
  readonly like?: string;
  /** What is allowed in place of the map. */
  readonly form: string;
  /** Why a step of it may need no cells, behind the name of a setting. */
  readonly stateless?: string;
  /** Whether a policy has at most one step of it, and the mechanism that must not be below it. */
  readonly once?: true;
  /** Whether no step may be below one of it. */
  readonly last?: true;
  readonly below?: string;
  readonly settings: readonly Setting[];
}
