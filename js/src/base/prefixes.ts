/** Addresses whose first bits are the same. A prefix of IPv4 is the prefix of IPv6 to which it is mapped. */
export interface Prefix {
  /** The eight groups of the address. */
  readonly groups: readonly number[];
  readonly bits: number;
}

/** How many bits are in front of an address of IPv4. */
const MAPPED = 96;

/** The eight groups of an address without a port and without a zone. */
function groupsOf(address: string): number[] | undefined {
  const short = !address.includes(':');
  // The last 32 bits of an address of IPv6 may be written as one of IPv4.
  const dotted = /^(.*:)(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(
    short ? `::ffff:${address}` : address,
  );
  if (!dotted && (short || address.includes('.'))) return undefined;
  let text = address;
  if (dotted) {
    const [, front = '', ...octets] = dotted;
    if (octets.some((octet) => Number(octet) > 255 || String(Number(octet)) !== octet)) return undefined;
    const [a = 0, b = 0, c = 0, d = 0] = octets.map(Number);
    text = `${front}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  }
  const parts = text.split('::').map((part) => (part ? part.split(':') : []));
  const count = parts.reduce((sum, { length }) => sum + length, 0);
  if (parts.length > 2 || (parts.length === 2 ? count > 7 : count !== 8)) return undefined;
  const [head = [], tail = []] = parts;
  const all = [...head, ...new Array<string>(8 - count).fill('0'), ...tail];
  return all.every((group) => /^[\da-f]{1,4}$/i.test(group))
    ? all.map((group) => parseInt(group, 16))
    : undefined;
}

/** Reads an address, and behind a slash how many of its bits count: all of them without one. */
export function prefixOf(text: string): Prefix | undefined {
  const [, address = '', bits] = /^([^/]*)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text) ?? [];
  const groups = groupsOf(address);
  const count = bits === undefined ? 128 : Number(bits) + (address.includes(':') ? 0 : MAPPED);
  return groups && count <= 128 ? { groups, bits: count } : undefined;
}

// Neither tries each of many colons: a client may send them.
const PORT = /^(?:\[([^\][:]*:[^\][]*)\]|([^:]*))(?::(\d+))?$/;
const ZONE = /^([^%:]*:[^%]*)%.+$/;

/**
 * Reads a value of the attribute `ip`: an address that may have a port, brackets and a zone, which are left out,
 * and behind a slash how many of its bits are its network, all of them without one.
 */
export function clientOf(text: string): Prefix | undefined {
  const [, host = '', bits] = /^([^/]*)(\/.*)?$/s.exec(text) ?? [];
  const [, inBrackets, plain, port] = PORT.exec(host) ?? [];
  if (Number(port ?? 0) > 65535) return undefined;
  const whole = inBrackets ?? plain ?? host;
  return prefixOf((ZONE.exec(whole)?.[1] ?? whole) + (bits ?? ''));
}

const isMapped = (groups: readonly number[]): boolean =>
  groups[5] === 0xffff && groups.every((group, i) => i > 4 || group === 0);

/** How many of the bits of a group do not count. */
const freeIn = (i: number, bits: number): number => 16 - Math.min(Math.max(bits - 16 * i, 0), 16);

/** Whether an address lies in a prefix, however many of its bits are its network. None of IPv4 lies in one of less than 96 bits. */
export function lies({ groups }: Prefix, prefix: Prefix): boolean {
  if (isMapped(groups) && prefix.bits < MAPPED) return false;
  return prefix.groups.every((group, i) => {
    const free = freeIn(i, prefix.bits);
    return group >> free === (groups[i] as number) >> free;
  });
}

/** An address with its first bits alone. */
const masked = (groups: readonly number[], bits: number): number[] =>
  groups.map((group, i) => {
    const free = freeIn(i, bits);
    return (group >> free) << free;
  });

/** The key of a value of the attribute `ip`: its network where it says how many bits that has. */
export function networkOf(value: string): string {
  const client = value.includes('/') ? clientOf(value) : undefined;
  if (!client) return value;
  const { groups, bits } = client;
  const least = isMapped(groups) && bits < MAPPED ? 128 : bits;
  return writeIP({ groups: masked(groups, least), bits: least });
}

/** The value of the attribute `ip` of an address, as Go's net/netip writes it. */
export function writeIP({ groups, bits }: Prefix): string {
  if (isMapped(groups)) {
    const octets = groups.slice(6).flatMap((group) => [group >> 8, group & 255]);
    return octets.join('.') + (bits < 128 ? `/${bits - MAPPED}` : '');
  }
  // The first of the longest runs of zeros is left out (RFC 5952, section 4.2).
  let [from, to] = [0, 1];
  for (let i = 0; i < groups.length; i++) {
    let end = i;
    while (groups[end] === 0) end++;
    if (end - i > to - from) [from, to] = [i, end];
  }
  const text = (part: readonly number[]): string => part.map((group) => group.toString(16)).join(':');
  const short = to - from > 1 ? `${text(groups.slice(0, from))}::${text(groups.slice(to))}` : text(groups);
  return short + (bits < 128 ? `/${bits}` : '');
}
