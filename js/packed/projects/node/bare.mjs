// Where there is no WebAssembly, Node's own fetch fails as soon as Response is named, and no caller gets its error.

/** Prints what a function reports, and lets no other error pass than an error of Node's fetch. */
export async function only(make) {
  process.on('unhandledRejection', (error) => {
    if (!/node:internal\/deps\/undici/.test(error.stack)) throw error;
  });
  console.log(JSON.stringify(await make()));
}
