/** Returns a function that returns the attributes of an outgoing request for `per`. */
export function attributesOf(request: Outgoing): (attribute: string) => string | null | undefined {
  return (attribute) => {
    const [kind, name = ''] = attribute.split(/:(.*)/);
    if (kind === 'method') return request.method;
    if (kind === 'header') return request.headers().get(name);
    if (kind === 'cookie') return cookie(request.headers().get(kind) ?? '', name);
    const url = addressOf(request);
    if (kind === 'host') return url?.host;
    if (kind === 'path') return url?.pathname;
    return kind === 'query' ? url?.searchParams.get(name) : undefined;
  };
}

/** The parts of a request that attributes come from. */
export interface Outgoing {
  readonly method: string;
  readonly url: string;
  headers(): Headers;
}

// A page's addresses may be relative to it. fetch refuses a text that is no address.
function addressOf({ url }: Outgoing): URL | undefined {
  try {
    return new URL(url, (globalThis as { location?: { href: string } }).location?.href);
  } catch {
    return undefined;
  }
}

function cookie(header: string, name: string): string | undefined {
  const pairs = header.split(/; */).map((pair) => pair.split(/=(.*)/));
  return pairs.find(([key]) => key === name)?.[1];
}
