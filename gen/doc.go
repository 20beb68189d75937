// Command gen writes the source files that follow from the rows of the mechanisms: settings_gen.go
// in the folder of each, and in js/src/generated the types of their settings and the table of the
// reader, with its checks. A row's settings are the entries of declared in the mechanism's config.go.
// With an argument it writes them below that folder. make generate runs it, twice, because it links
// the rows that it writes, and the other generators of the repository:
//
//   - internal/mechanismtable/gen, before it, writes the table of core/mechanisms,
//   - wasm/abi/gen writes js/src/generated/abi.ts and the generated parts of wasm/ABI.md and wasm/PLAN.md,
//   - the tests of package policy write policy/schema.json and the tables of policy/REFERENCE.md,
//   - docs/mechanisms/draw writes the pictures and the figures of the guides.
//
// A test beside each of them compares the committed files with what it writes, and names the
// file that differs and the command.
package main
