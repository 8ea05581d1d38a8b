import { json } from "@codemirror/lang-json";
import { foldGutter, syntaxHighlighting } from "@codemirror/language";
import { EditorState, type Extension, Text } from "@codemirror/state";
import { drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { standardKeymap } from "@codemirror/commands";
import { css, html, LitElement } from "lit";
import { colours, editorTheme } from "../../src/editor-theme";
import { INVISIBLE_IN_EDITOR } from "./format";

/** A text with more characters has no colours, because the parser would block the page. */
const MAX_COLOURED = 500_000;
/** A text with more characters has no wrapped lines, because the layout of a long line is slow. */
const MAX_WRAPPED = 100_000;

/** Shows text in a read-only editor, which renders only the visible lines. */
class CodeView extends LitElement {
  static override properties = { lines: { attribute: false }, label: {}, json: { type: Boolean } };

  static override styles = css`
    :host {
      display: block;
      min-height: 0;
      overflow: hidden;
    }

    .editor {
      height: 100%;
    }
  `;

  declare lines: readonly string[];
  declare label: string;
  declare json: boolean;
  #view: EditorView | undefined;

  constructor() {
    super();
    this.lines = [];
    this.label = "Text";
    this.json = false;
  }

  override render() {
    return html`<div class="editor"></div>`;
  }

  override updated(): void {
    const parent = this.renderRoot.querySelector(".editor");
    if (!parent) return;
    const doc = Text.of(this.lines.length ? [...this.lines] : [""]);
    const state = EditorState.create({ doc, extensions: this.#extensions(doc.length) });
    if (this.#view) this.#view.setState(state);
    else this.#view = new EditorView({ state, parent, root: this.renderRoot as ShadowRoot });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#view?.destroy();
    this.#view = undefined;
  }

  #extensions(length: number): Extension {
    return [
      lineNumbers(),
      highlightSpecialChars({ addSpecialChars: INVISIBLE_IN_EDITOR }),
      drawSelection(),
      keymap.of(standardKeymap),
      editorTheme,
      EditorView.theme({ "&": { fontSize: "12px" } }),
      EditorState.readOnly.of(true),
      EditorView.editable.of(false),
      EditorView.contentAttributes.of({ tabindex: "0", "aria-label": this.label, "aria-readonly": "true" }),
      length <= MAX_WRAPPED ? EditorView.lineWrapping : [],
      this.json && length <= MAX_COLOURED ? [json(), foldGutter(), syntaxHighlighting(colours)] : [],
    ];
  }
}

customElements.define("pw-code-view", CodeView);
