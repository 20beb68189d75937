import { type Fields, fieldsOf } from './fields.js';
import { type Kind, MAP, type Node, NUMBER, TEXT } from './node.js';
import type { Problems } from './problems.js';
import { DURATION_TEXT, LIMIT_RATE_TEXT } from './quantities.js';
import { attributeOf, type Row, type Setting, type Type, type Values } from './row.js';

/** The bit of a byte of words behind which a byte with the bits of maps is. */
const MORE = 64;

/** A mechanism: its row, and functions that follow from the row and from the rules that no row has. */
export interface Mechanism {
  readonly row: Row;
  /** Fills in the defaults that depend on other settings, and reports settings that exclude each other. */
  check?(s: Settings): void;
  /** Whether settings need cells. Every setting does where this and the row's `stateless` are left out. */
  needsCells?(s: Settings): boolean;
  /** Whether a text may have meant the setting `like`. */
  isLike?(text: string): boolean;
}

/** Reads the value of a setting; undefined where it is not whole, which is an error. */
export type Reader = (s: Settings, n: Node, part: Setting, name: string) => Values | undefined;
export type Readers = { readonly [T in Type]?: Reader };

interface Given {
  readonly node: Node;
  whole: boolean;
}

/** Reads the settings of one step. Names of parts have the name of the whole and a dot in front, as in `slow.over`. */
export class Settings {
  /** The map of settings; undefined for a short form. */
  fields: Fields | undefined;
  /** The attribute and the map of the classes of a limit. */
  classes: { by: string; rates: Node | undefined } = { by: '', rates: undefined };
  private readonly given = new Map<string, Given>();
  private readonly values = new Map<string, Values>();

  constructor(
    readonly problems: Problems,
    readonly mechanism: Mechanism,
    private readonly readers: Readers,
  ) {}

  /** Reads a step, with its short form, beside settings of other names. */
  read(n: Node, common: readonly string[]): void {
    const { problems, mechanism } = this;
    const { row } = mechanism;
    const short = shortOf(row, n.kind);
    if (short) {
      if (short.type === 'duration' && n.kind === NUMBER) {
        problems.mistyped(n, DURATION_TEXT);
        return;
      }
      this.value(short, short.name, n);
    } else {
      if (row.like && n.kind === TEXT) {
        const near = mechanism.isLike?.(n.text) ? `{${row.like}: ${n.text}}` : '';
        problems.mistyped(n, row.form, near);
        return;
      }
      this.fields = fieldsOf(problems, n, row.form, [...namesOf(row.settings), ...common]);
      if (!this.fields) return;
      this.parts(this.fields, row.settings, '');
    }
    mechanism.check?.(this);
  }

  /** The settings of the same map with another entry in place of one. */
  withEntry(name: string, entry: Node): Settings {
    const { problems, mechanism, readers } = this;
    const own = new Settings(problems, mechanism, readers);
    own.fields = this.fields?.with(name, entry);
    if (own.fields) own.parts(own.fields, mechanism.row.settings, '');
    mechanism.check?.(own);
    return own;
  }

  /** Reads the entries of a map and returns whether all that are there are whole, and all that are required are there. */
  parts(fields: Fields, parts: readonly Setting[], prefix: string): boolean {
    let whole = true;
    for (const part of parts) {
      const { name, or } = part;
      const required = part.required && !(or && (fields.get(or) || fields.means(or)));
      const n = required ? fields.need(name, saysOf(part)) : fields.get(name);
      if (n ? !this.value(part, prefix + name, n) : required) whole = false;
    }
    return whole;
  }

  /** Reads the value of a setting and returns whether it is whole. */
  value(part: Setting, name: string, node: Node): boolean {
    const given = { node, whole: false };
    this.given.set(name, given);
    const values = this.readers[part.type]?.(this, node, part, name);
    if (values) this.values.set(name, values);
    given.whole = values !== undefined;
    return given.whole;
  }

  /** Whether a setting is there. */
  has(name: string): boolean {
    return this.given.has(name);
  }

  /** Whether a setting is there and could be read. */
  whole(name: string): boolean {
    return this.given.get(name)?.whole ?? false;
  }

  /** Whether a setting is the word none. */
  none(name: string): boolean {
    const node = this.given.get(name)?.node;
    return node?.kind === TEXT && node.text === 'none';
  }

  /** Whether an unknown name is near to one that is missing. */
  means(name: string): boolean {
    return this.fields?.means(name) ?? false;
  }

  /** Reports a setting, if it is there, as one that is not allowed in its place, whatever its value. */
  refuse(name: string, found: string, allowed: string): void {
    const node = this.given.get(name)?.node;
    if (!node) return;
    const { key } = node;
    this.problems.forget(node);
    this.problems.failKey(node, `${key} ${found}`, `${key} ${allowed}`);
  }

  /** Reports the value of a setting that is there. */
  wrong(name: string, allowed: string): void {
    const node = this.given.get(name)?.node;
    if (node) this.problems.mistyped(node, allowed);
  }

  /** Sets the values of a setting. */
  set(name: string, ...values: Values): void {
    this.values.set(name, values);
  }

  /** Reports a setting that is missing, with what is allowed. */
  need(name: string, allowed: string): void {
    this.fields?.need(name, allowed);
  }

  /** The values of a setting: the given ones, or the default ones. */
  get(name: string): Values {
    return this.values.get(name) ?? defaultOf(this.mechanism.row.settings, name) ?? [];
  }

  /** The first value of a setting, 0 for none. */
  first(name: string): number | bigint {
    return this.get(name)[0] ?? 0;
  }

  /** Whether it has windows of the calendar: the last value is then the wall time of mark 0. */
  dated(): boolean {
    return this.mechanism.row.settings.some(({ name, type }) => type === 'zone' && this.first(name) !== 0);
  }

  /** All values for the core, in its order. */
  all(): readonly (number | bigint | string)[] {
    const { settings } = this.mechanism.row;
    const there = ({ name, type }: Setting): boolean => (type === 'zone' ? this.dated() : this.has(name));
    const bits = settings.reduce((sum, part) => (there(part) ? sum | (part.bit ?? 0) : sum), 0);
    return settings.flatMap<number | bigint | string>(({ name, type, parts = [], bit }) =>
      type === 'methods' || (bit && !(bits & bit))
        ? []
        : type === 'map'
          ? parts.flatMap((p) => this.get(`${name}.${p.name}`))
          : type === 'cost'
            ? [attributeOf(this.get(name)), this.first(name)]
            : type === 'words'
              ? [...(bits ? [Number(this.first(name)) | MORE, bits] : this.get(name))]
              : this.get(name),
    );
  }
}

/** Whether a setting is not there, or could be read. */
export const readable = (s: Settings, name: string): boolean => !s.has(name) || s.whole(name);

/** The setting that a value of a kind is in place of the map; undefined for a value that is no short form. */
export function shortOf({ settings, short }: Row, kind: Kind): Setting | undefined {
  const setting = settings.find(({ name }) => name === short);
  return kind === NUMBER || (kind === TEXT && setting?.type !== 'count') ? setting : undefined;
}

function defaultOf(settings: readonly Setting[], name: string): Values | undefined {
  const [first = '', rest] = name.split('.');
  const setting = settings.find((s) => s.name === first);
  return rest ? defaultOf(setting?.parts ?? [], rest) : setting?.default;
}

export const namesOf = (settings: readonly Setting[]): string[] => settings.map(({ name }) => name);

/** What a missing setting may be. */
const saysOf = ({ says, type }: Setting): string =>
  says ?? (type === 'rate' ? LIMIT_RATE_TEXT : DURATION_TEXT);

/** The part of a map whose value is in its place: of a map with none of the parts, one that may be a map. */
function shortPart({ short, parts = [] }: Setting, n: Node): Setting | undefined {
  const part = parts.find((p) => p.name === short);
  if (n.kind !== MAP) return part;
  return part?.type === 'block_time' && !n.items.some(({ key }) => namesOf(parts).includes(key))
    ? part
    : undefined;
}

/** A map of parts. */
export const map: Reader = (s, n, setting, name) => {
  const { says = '', parts = [] } = setting;
  const short = shortPart(setting, n);
  if (short) return s.value(short, `${name}.${short.name}`, n) ? [] : undefined;
  const fields = fieldsOf(s.problems, n, says, namesOf(parts));
  return fields && s.parts(fields, parts, `${name}.`) ? [] : undefined;
};

/** A map of parts of which one variant is given. */
export const oneOf: Reader = (s, n, { says = '', parts = [] }, name) => {
  const fields = fieldsOf(s.problems, n, says, namesOf(parts));
  const entry = fields?.oneOf(namesOf(parts.filter(({ variant }) => variant)), says);
  if (!fields || !entry) return undefined;
  let whole = true;
  let variant = '';
  for (const part of parts) {
    if (part.variant) variant = part.name;
    const found = fields.get(part.name);
    if (!found) continue;
    if (variant !== entry.key) fields.refuse(part.name, `beside ${entry.key}`, `beside ${variant}`);
    else if (!s.value(part, `${name}.${part.name}`, found)) whole = false;
  }
  return whole ? [] : undefined;
};
