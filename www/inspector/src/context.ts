import type { CommandSource } from "./command-source";
import { Connections } from "./connections";
import { Model } from "./model";

/** The parts of one inspector, which its panes share. */
export class InspectorContext {
  readonly model: Model;
  readonly connections: Connections;
  /** The command that serves the page, if there is one. */
  command: CommandSource | undefined;

  constructor(model = new Model()) {
    this.model = model;
    this.connections = new Connections(model);
  }
}
