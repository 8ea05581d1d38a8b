import init from "portway-inspector";
import { CommandSource } from "./command-source";
import { InspectorContext } from "./context";
import "./inspector";
import { readTapsOfOrigin } from "./tap-source";

const view = document.querySelector<HTMLElement & { context: InspectorContext }>("pw-inspector");

async function start(): Promise<void> {
  try {
    await init();
    const context = new InspectorContext();
    context.command = CommandSource.find(context.model);
    if (view) view.context = context;
    readTapsOfOrigin(context.model);
    void context.command?.read();
  } catch (error) {
    const text = document.createElement("p");
    text.setAttribute("role", "alert");
    text.textContent = `The inspector could not start: ${error instanceof Error ? error.message : String(error)}`;
    document.body.prepend(text);
  }
}

// WebKit sometimes hangs in its module loader if a page is left during a top-level `await`. So the module has none.
void start();
