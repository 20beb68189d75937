// The import graph of src, imports of types included. `node scripts/imports.mjs` prints its circles and fails if there are any.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const SOURCES = fileURLToPath(new URL('../src/', import.meta.url));
const FROM = /(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']*)\.js'/g;

/** The files of a folder, and what each imports. */
export function importsOf(root = SOURCES) {
  const paths = readdirSync(root, { recursive: true }).filter((path) => path.endsWith('.ts'));
  const read = (path) => {
    const found = readFileSync(join(root, path), 'utf8').matchAll(FROM);
    return [...found].map(([, to]) => `${relative(root, join(root, dirname(path), to))}.ts`);
  };
  return new Map(paths.sort().map((path) => [path, [...new Set(read(path))]]));
}

/** The circles of a graph: sets of nodes that reach each other, by Tarjan's algorithm. */
export function circlesOf(graph) {
  const order = new Map();
  const low = new Map();
  const stack = [];
  const circles = [];
  const visit = (node) => {
    order.set(node, order.size);
    low.set(node, order.get(node));
    stack.push(node);
    for (const next of graph.get(node) ?? []) {
      if (!order.has(next)) visit(next);
      if (stack.includes(next)) low.set(node, Math.min(low.get(node), low.get(next)));
    }
    if (low.get(node) !== order.get(node)) return;
    const circle = stack.splice(stack.indexOf(node));
    if (circle.length > 1 || graph.get(node)?.includes(node)) circles.push(circle.sort());
  };
  for (const node of graph.keys()) if (!order.has(node)) visit(node);
  return circles;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const circles = circlesOf(importsOf());
  for (const circle of circles) console.error(`a circle of ${circle.length} files: ${circle.join(', ')}`);
  if (circles.length) process.exitCode = 1;
}
