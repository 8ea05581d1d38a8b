import type { CommandSource } from "./command-source";
import { Connections } from "./connections";
import { Model } from "./model";

/** The parts of one inspector, which its panes share. */
export class InspectorContext {
  readonly model: Model;
  readonly connections: Connections;
  /** The command that serves the page, if there is one. */
  command: CommandSource | undefined;
  /** Whether the inspector is a part of another page. Then its panes are low, and it opens no connections. */
  readonly isEmbedded: boolean;

  constructor({ model = new Model(), isEmbedded = false } = {}) {
    this.model = model;
    this.connections = new Connections(model);
    this.isEmbedded = isEmbedded;
  }
}
