/** Addresses whose first bits are the same. One of IPv4 is that of IPv6 to which it is mapped. */
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

/** Whether an address, or a network, lies in a prefix. None of IPv4 lies in one of less than 96 bits. */
export function lies({ groups, bits }: Prefix, prefix: Prefix): boolean {
  if (bits < prefix.bits) return false;
  const mapped = groups.slice(0, 6).join() === '0,0,0,0,0,65535';
  if (mapped && prefix.bits < MAPPED) return false;
  return prefix.groups.every((group, i) => {
    const free = 16 - Math.min(Math.max(prefix.bits - 16 * i, 0), 16);
    return group >> free === (groups[i] as number) >> free;
  });
}
