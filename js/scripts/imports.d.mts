/** Paths of files from src, and those that each of them imports. */
export type Graph = ReadonlyMap<string, readonly string[]>;
export function importsOf(root?: string): Graph;
export function circlesOf(graph: Graph): string[][];
