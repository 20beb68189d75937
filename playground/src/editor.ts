// An editor of a document in YAML.

import { autocompletion } from '@codemirror/autocomplete';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, setDiagnostics } from '@codemirror/lint';
import { Prec } from '@codemirror/state';
import { EditorView, hoverTooltip, keymap } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { basicSetup } from 'codemirror';
import type { Problem } from './document.js';
import { completes, describedAt, type Schema } from './schema.js';

/** The colours are variables of the page, light or dark. */
const theme = EditorView.theme({
  '&': { height: '100%', fontSize: '13px', backgroundColor: 'var(--card)', color: 'var(--ink)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': {
    fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
    lineHeight: '1.55',
  },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--card)', color: 'var(--soft)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--rule)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--selection) !important',
  },
  '.cm-tooltip': {
    backgroundColor: 'var(--card)',
    color: 'var(--ink)',
    border: '1px solid var(--edge)',
    borderRadius: '8px',
    maxWidth: 'min(52ch, 80vw)',
    fontSize: '13px',
  },
  '.cm-tooltip.cm-completionInfo': { padding: '6px 10px' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--with)', color: 'var(--back)' },
  '.cm-diagnostic': { whiteSpace: 'pre-wrap' },
  '.cm-hover': { padding: '6px 10px' },
  '.cm-panels': { backgroundColor: 'var(--back)', color: 'var(--ink)' },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--back)', borderColor: 'var(--edge)', color: 'var(--soft)' },
});

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--with)' },
  { tag: [tags.string, tags.content], color: 'var(--ink)' },
  { tag: tags.comment, color: 'var(--soft)', fontStyle: 'italic' },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: 'var(--soft)' },
]);

export interface Editor {
  readonly view: EditorView;
  text: string;
  /** Shows what is wrong. */
  show(problems: readonly Problem[]): void;
}

interface Options {
  parent: HTMLElement;
  label: string;
  /** The schema of the document, once it is loaded. */
  schema: () => Schema;
  changed: () => void;
  run: () => void;
}

export function editor({ parent, label, schema, changed, run }: Options): Editor {
  const hover = hoverTooltip((view, position) => {
    const found = describedAt(schema(), view.state.doc.toString(), position);
    if (!found) return null;
    return {
      pos: found.from,
      end: found.to,
      create() {
        const dom = document.createElement('div');
        dom.className = 'cm-hover';
        dom.textContent = found.text;
        return { dom };
      },
    };
  });
  const runs = () => {
    run();
    return true;
  };
  const view = new EditorView({
    parent,
    extensions: [
      Prec.highest(keymap.of([{ key: 'Mod-Enter', run: runs }])),
      basicSetup,
      yaml(),
      autocompletion({ override: [completes(schema)] }),
      hover,
      lintGutter(),
      EditorView.lineWrapping,
      theme,
      syntaxHighlighting(colours),
      EditorView.contentAttributes.of({ 'aria-label': label }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) changed();
      }),
    ],
  });
  return {
    view,
    get text() {
      return view.state.doc.toString();
    },
    set text(insert: string) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert } });
      view.scrollDOM.scrollTop = 0;
    },
    show(problems) {
      const most = view.state.doc.length;
      const diagnostics = problems.map(({ from, to, message }) => ({
        from: Math.min(from, most),
        to: Math.min(to, most),
        message,
        severity: 'error' as const,
      }));
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
  };
}
