// Breaks minified code into lines: an uncaught error prints the whole line that threw it.

/** How long a line gets before it ends at the next place where it may. */
const LINE = 200;

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** The first number of a segment of a source map, in base64 VLQ, and its length. */
function first(segment) {
  let value = 0;
  for (let i = 0; ; i++) {
    const digit = DIGITS.indexOf(segment[i]);
    value += (digit & 31) * 32 ** i;
    if (digit < 32) return [value % 2 ? -(value >> 1) : value >> 1, i + 1];
  }
}

/**
 * Code and its mappings with more lines. A line ends behind a semicolon, a comma or a brace where a token begins that the map
 * knows: in no text, and nowhere that the end of a line means something.
 */
export function inLines(code, mappings) {
  const mapped = mappings.split(';');
  const broken = code.split('\n').map((line, n) => {
    let text = '';
    let begin = 0;
    let column = 0;
    const segments = (mapped[n] ?? '').split(',').map((segment, i) => {
      if (!segment) return segment;
      const [by, size] = first(segment);
      column += by;
      if (column - begin < LINE || !';,{'.includes(line[column - 1])) return i ? `,${segment}` : segment;
      text += `${line.slice(begin, column)}\n`;
      begin = column;
      return `;A${segment.slice(size)}`;
    });
    return [text + line.slice(begin), segments.join('')];
  });
  return {
    code: broken.map(([text]) => text).join('\n'),
    mappings: broken.map(([, segments]) => segments).join(';'),
  };
}
