import { indentWithTab } from "@codemirror/commands";
import { css as cssLanguage } from "@codemirror/lang-css";
import { html as htmlLanguage } from "@codemirror/lang-html";
import { javascript } from "@codemirror/lang-javascript";
import { json } from "@codemirror/lang-json";
import { syntaxHighlighting } from "@codemirror/language";
import { lintGutter } from "@codemirror/lint";
import type { Extension } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { basicSetup } from "codemirror";
import { colours, editorTheme } from "./editor-theme";

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
