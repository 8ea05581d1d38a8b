// Tests the code of docs/language-servers.md. A server of Portway serves the client of Monaco and the official client.
// An official server serves Monaco over a client of Portway.

import { assert } from "chai";
import { afterThisTest } from "../../web/support/cleanup.js";
import { until } from "../../web/support/outcomes.js";

/** Adds an element. The code of the page selects this element by its id. */
function addElement(id) {
  const element = document.createElement("div");
  element.id = id;
  element.style.cssText = "width: 600px; height: 300px";
  document.body.append(element);
  afterThisTest(() => element.remove());
  return element;
}

/** Imports code of the page. Ends its workers after the test. */
async function run(file) {
  const workers = [];
  const { Worker } = globalThis;
  globalThis.Worker = class extends Worker {
    constructor(...values) {
      super(...values);
      workers.push(this);
    }
  };
  afterThisTest(() => {
    globalThis.Worker = Worker;
    for (const worker of workers) worker.terminate();
  });
  return import(`/target/language-workers/docs/${file}`);
}

/** Waits for a mark of a problem in an editor. */
const marked = (element, severity) => until(() => element.querySelector(`.squiggly-${severity}`) !== null);

/** Inserts a text at the end of the first line, and returns the labels that the editor suggests there. */
async function suggestionsAfter(editor, text) {
  editor.focus();
  editor.setPosition({ lineNumber: 1, column: editor.getModel().getLineMaxColumn(1) });
  editor.trigger("test", "type", { text });
  editor.trigger("test", "editor.action.triggerSuggest", {});
  const labels = () =>
    [...document.querySelectorAll(".suggest-widget .monaco-list-row")].map((row) => row.ariaLabel.split(",")[0]);
  await until(() => labels().length > 0);
  return labels();
}

describe("docs/language-servers.md", () => {
  it("connects Monaco to a server of Portway", async () => {
    const element = addElement("editor");
    const { editor } = await run("todo-editor.js");
    afterThisTest(() => editor.dispose());
    await marked(element, "warning");
    // Monaco also suggests the words of the text.
    assert.include(await suggestionsAfter(editor, " "), "DONE");
    editor.setValue("nothing\n");
    await until(() => element.querySelector(".squiggly-warning") === null);
  });

  it("connects the official client to a server of Portway", async () => {
    const problems = addElement("problems");
    await run("todo-client.js");
    await until(() => problems.textContent !== "");
    assert.equal(problems.textContent, "file:///notes.txt: a task is open");
  });

  it("connects Monaco to an official server", async () => {
    const element = addElement("editor");
    const { editor } = await run("css-editor.js");
    afterThisTest(() => editor.dispose());
    await marked(element, "warning");
    editor.setValue("a { col }\n");
    await until(() => element.querySelector(".squiggly-warning") === null);
    editor.setValue("a { \n");
    assert.include(await suggestionsAfter(editor, "col"), "color");
  });
});
