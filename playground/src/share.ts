// What is in the editors, in the fragment of an address: it is sent to no server.

export interface Shared {
  scenario: string;
  /** The policies of the comparison. */
  other?: string;
  seed?: string;
}

const VERSION = '1.';

/** The fragment of what is shared. */
export async function encode(shared: Shared): Promise<string> {
  const stream = new Blob([JSON.stringify(shared)])
    .stream()
    .pipeThrough(new CompressionStream('deflate-raw'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return VERSION + btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** The most characters that are unpacked. */
const MOST = 1 << 20;

/** What a fragment shares, undefined where it is none. */
export async function decode(fragment: string): Promise<Shared | undefined> {
  if (!fragment.startsWith(VERSION)) return undefined;
  try {
    const text = atob(fragment.slice(VERSION.length).replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(text, (one) => one.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
    const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
    let json = '';
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      json += part.value;
      if (json.length > MOST) return undefined;
    }
    const shared = JSON.parse(json) as Partial<Shared> | null;
    if (typeof shared?.scenario !== 'string') return undefined;
    return {
      scenario: shared.scenario,
      ...(typeof shared.other === 'string' && { other: shared.other }),
      ...(typeof shared.seed === 'string' && { seed: shared.seed }),
    };
  } catch {
    return undefined;
  }
}
