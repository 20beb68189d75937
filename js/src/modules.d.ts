/** The bytes of a module, which the build puts in. */
declare module 'inline:*' {
  const bytes: Uint8Array<ArrayBuffer>;
  export default bytes;
}

/** A module that the runtime compiles. */
declare module '*.wasm' {
  const module: WebAssembly.Module;
  export default module;
}

/** The same for the edge runtime of Next.js. */
declare module '*.wasm?module' {
  const module: WebAssembly.Module;
  export default module;
}

/** A module as JavaScript, which the build translates. */
declare module 'translated:*' {
  export const instantiate: () => { readonly exports: object };
}
