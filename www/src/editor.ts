import { setDiagnostics, type Diagnostic as EditorDiagnostic } from "@codemirror/lint";
import { EditorState, type Text } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { css, html, LitElement, nothing } from "lit";
import type { Diagnostic } from "portway";
import { controls } from "./controls-style";
import { editorSetup } from "./editor-setup";
import * as icons from "./icons";
import { lengthOf, formatPosition, positionOf } from "./source-position";
import { Watch } from "./store";
import { workspace } from "./workspace";

/** Edits the open file. The editor stores the undo history and the cursor of each file while another file is open. */
class Editor extends LitElement {
  static override styles = [
    controls,
    css`
      :host {
        display: flex;
        flex-direction: column;
        min-width: 0;
        min-height: 0;
        background: var(--surface);
      }

      .path {
        padding-left: 6px;
        overflow: hidden;
        text-overflow: ellipsis;
        white-space: nowrap;
      }

      .path b {
        font-weight: 600;
      }

      .text {
        flex: 1;
        min-height: 0;
      }

      .banner {
        flex: none;
        justify-content: flex-start;
        align-items: flex-start;
        gap: 8px;
        padding: 8px 12px;
        text-align: left;
        color: var(--error);
        background: var(--error-bg);
        border: 0;
        border-bottom: 1px solid var(--line);
        border-radius: 0;
      }

      .banner:hover:not(:disabled) {
        background: var(--error-bg);
        text-decoration: underline;
      }

      .banner:focus-visible {
        outline-offset: -2px;
      }

      .banner code {
        font-family: var(--mono);
      }
    `,
  ];

  readonly #states = new Map<string, EditorState>();
  #view: EditorView | undefined;
  #displayedPath = "";
  #generation = 0;
  #markedDiagnostics: readonly Diagnostic[] | undefined;

  constructor() {
    super();
    new Watch(
      this,
      workspace.project.files,
      workspace.openFile,
      workspace.generation,
      workspace.builds.state,
      workspace.target,
    );
  }

  override render() {
    const path = workspace.openFile.value;
    const nameStart = path.lastIndexOf("/") + 1;
    const { status, diagnostics } = workspace.builds.state.value;
    const [first] = diagnostics;
    return html`
      <div class="bar"><span class="path"><span class="muted">${path.slice(0, nameStart)}</span><b>${path.slice(nameStart)}</b></span></div>
      ${status === "ready" || !first ? nothing : this.#banner(first, diagnostics.length)}
      <div class="text"></div>
    `;
  }

  #banner(diagnostic: Diagnostic, count: number) {
    const position = positionOf(diagnostic);
    const place = position ? html`<code>${formatPosition(position)}</code> ` : nothing;
    const go = () => position && workspace.goTo(position);
    return html`<button class="banner" @click=${go}>
      ${icons.alert}<span>${place}${diagnostic.message}${count > 1 ? ` (and ${count - 1} more)` : nothing}</span>
    </button>`;
  }

  override updated(): void {
    void this.#update();
  }

  async #update(): Promise<void> {
    const path = workspace.openFile.value;
    if (workspace.generation.value !== this.#generation) {
      this.#generation = workspace.generation.value;
      this.#states.clear();
      this.#displayedPath = "";
    }
    // A new file must not have the history of a deleted file with the same path.
    for (const known of this.#states.keys()) {
      if (!workspace.project.files.value.includes(known)) this.#states.delete(known);
    }
    if (path !== this.#displayedPath && this.#generation > 0) {
      const state = this.#states.get(path) ?? (await this.#open(path));
      // Meanwhile, the user may have opened another file, or a second update may have displayed this file.
      if (path !== workspace.openFile.value || path === this.#displayedPath) return;
      if (this.#view && workspace.project.files.value.includes(this.#displayedPath))
        this.#states.set(this.#displayedPath, this.#view.state);
      this.#displayedPath = path;
      this.#display(state);
    }
    this.#mark();
    this.#moveToTarget();
  }

  async #open(path: string): Promise<EditorState> {
    const doc = path ? await workspace.project.read(path) : "";
    const reportChanges = EditorView.updateListener.of(({ state, docChanged, selectionSet }) => {
      if (docChanged) workspace.edit(path, state.doc.toString());
      if (docChanged || selectionSet) this.#reportCursor(state);
    });
    return EditorState.create({
      doc,
      extensions: [editorSetup(path), reportChanges, EditorState.readOnly.of(path === "")],
    });
  }

  #display(state: EditorState): void {
    const parent = this.renderRoot.querySelector(".text");
    if (!parent) return;
    if (this.#view) this.#view.setState(state);
    else this.#view = new EditorView({ state, parent, root: this.renderRoot as ShadowRoot });
    this.#markedDiagnostics = undefined;
    this.#reportCursor(state);
  }

  #reportCursor(state: EditorState): void {
    const { head } = state.selection.main;
    const line = state.doc.lineAt(head);
    workspace.cursor.set({ line: line.number, column: head - line.from + 1 });
  }

  /** Underlines the errors of the last build in the displayed file. */
  #mark(): void {
    const view = this.#view;
    const { diagnostics } = workspace.builds.state.value;
    if (!view || diagnostics === this.#markedDiagnostics) return;
    this.#markedDiagnostics = diagnostics;
    const ofDisplayedFile = diagnostics.filter(({ file }) => file === this.#displayedPath);
    const marks = ofDisplayedFile.map((diagnostic) => toEditorDiagnostic(view.state.doc, diagnostic));
    view.dispatch(setDiagnostics(view.state, marks));
    // The banner reduces the height of the editor, which could hide the current line.
    if (ofDisplayedFile.length && view.hasFocus)
      view.dispatch({ effects: EditorView.scrollIntoView(view.state.selection.main.head) });
  }

  #moveToTarget(): void {
    const target = workspace.target.value;
    if (!this.#view || target?.file !== this.#displayedPath) return;
    workspace.target.set(undefined);
    const anchor = offsetOf(this.#view.state.doc, target.line, target.column);
    this.#view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: "center" }) });
    this.#view.focus();
  }

  override focus(): void {
    this.#view?.focus();
  }
}

function toEditorDiagnostic(doc: Text, diagnostic: Diagnostic): EditorDiagnostic {
  const { line = 1, column = 1 } = positionOf(diagnostic) ?? {};
  const from = offsetOf(doc, line, column);
  const to = Math.min(doc.length, from + Math.max(1, lengthOf(diagnostic)));
  return { from, to, severity: "error", message: diagnostic.message };
}

/**
 * Returns the offset of a position. The text may have changed since the build. If the position is outside of the text,
 * returns the nearest offset.
 */
function offsetOf(doc: Text, line: number, column: number): number {
  const { from, length } = doc.line(Math.min(doc.lines, Math.max(1, line)));
  return from + Math.min(length, Math.max(0, column - 1));
}

customElements.define("pw-editor", Editor);
