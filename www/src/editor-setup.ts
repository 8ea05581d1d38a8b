import { indentWithTab } from "@codemirror/commands";
import { css as cssLanguage } from "@codemirror/lang-css";
import { html as htmlLanguage } from "@codemirror/lang-html";
import { javascript } from "@codemirror/lang-javascript";
import { json } from "@codemirror/lang-json";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { lintGutter } from "@codemirror/lint";
import type { Extension } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { basicSetup } from "codemirror";

/** The theme. Its colours are custom properties of the page, so one theme is sufficient for light and dark pages. */
const editorTheme = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--surface)", fontSize: "13px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { caretColor: "var(--accent)", padding: "8px 0" },
  ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  ".cm-gutters": { color: "var(--muted)", backgroundColor: "var(--surface)", border: "none" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--selected) 35%, transparent)" },
  ".cm-activeLineGutter": { color: "var(--text)", backgroundColor: "transparent" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--selection)",
  },
  ".cm-selectionMatch": { backgroundColor: "color-mix(in srgb, var(--selection) 55%, transparent)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--selection)", outline: "none" },
  ".cm-foldPlaceholder": { color: "var(--muted)", backgroundColor: "var(--hover)", border: "none", padding: "0 6px" },
  ".cm-panels, .cm-tooltip": { color: "var(--text)", backgroundColor: "var(--raised)", borderColor: "var(--line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { color: "var(--text)", backgroundColor: "var(--selected)" },
  ".cm-textfield": { color: "var(--text)", backgroundColor: "var(--surface)", borderColor: "var(--line)" },
  ".cm-button": {
    color: "var(--text)",
    backgroundImage: "none",
    backgroundColor: "var(--surface)",
    borderColor: "var(--line)",
  },
  ".cm-diagnostic-error": { borderLeftColor: "var(--error)" },
});

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--syn-keyword)" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: "var(--syn-string)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom, tags.unit, tags.color], color: "var(--syn-number)" },
  { tag: [tags.comment, tags.meta], color: "var(--syn-comment)", fontStyle: "italic" },
  { tag: [tags.tagName, tags.angleBracket, tags.standard(tags.name)], color: "var(--syn-tag)" },
  { tag: [tags.attributeName, tags.propertyName, tags.function(tags.variableName)], color: "var(--syn-name)" },
  { tag: [tags.typeName, tags.className, tags.namespace], color: "var(--syn-type)" },
]);

/** The extensions of the editor for every file. */
export function editorSetup(path: string): Extension {
  return [
    basicSetup,
    // Tab indents; Escape and then Tab leaves the editor.
    keymap.of([indentWithTab]),
    editorTheme,
    syntaxHighlighting(colours),
    lintGutter(),
    languageOf(path),
    EditorView.contentAttributes.of({ "aria-label": `Text of ${path}. Press Escape, then Tab, to leave.` }),
  ];
}

function languageOf(path: string): Extension {
  switch (path.slice(path.lastIndexOf(".") + 1)) {
    case "tsx":
      return javascript({ jsx: true, typescript: true });
    case "ts":
      return javascript({ typescript: true });
    case "js":
    case "jsx":
    case "mjs":
      return javascript({ jsx: true });
    case "css":
      return cssLanguage();
    case "html":
    case "svg":
      return htmlLanguage();
    case "json":
      return json();
    default:
      return [];
  }
}
