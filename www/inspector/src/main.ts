import init from "portway-inspector";
import { InspectorContext } from "./context";
import "./inspector";

const view = document.querySelector<HTMLElement & { context: InspectorContext }>("pw-inspector");

try {
  await init();
  if (view) view.context = new InspectorContext();
} catch (error) {
  const text = document.createElement("p");
  text.setAttribute("role", "alert");
  text.textContent = `The inspector could not start: ${error instanceof Error ? error.message : String(error)}`;
  document.body.prepend(text);
}
