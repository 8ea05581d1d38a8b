import { HighlightStyle } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** The theme. Its colours are custom properties of the page, so one theme is sufficient for light and dark pages. */
export const editorTheme = EditorView.theme({
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

/** The colours of code. */
export const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--syn-keyword)" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: "var(--syn-string)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom, tags.unit, tags.color], color: "var(--syn-number)" },
  { tag: [tags.comment, tags.meta], color: "var(--syn-comment)", fontStyle: "italic" },
  { tag: [tags.tagName, tags.angleBracket, tags.standard(tags.name)], color: "var(--syn-tag)" },
  { tag: [tags.attributeName, tags.propertyName, tags.function(tags.variableName)], color: "var(--syn-name)" },
  { tag: [tags.typeName, tags.className, tags.namespace], color: "var(--syn-type)" },
]);
