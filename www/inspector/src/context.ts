import { Connections } from "./connections";
import { Model } from "./model";

/** The parts of one inspector, which its panes share. */
export class InspectorContext {
  readonly model: Model;
  readonly connections: Connections;

  constructor(model = new Model()) {
    this.model = model;
    this.connections = new Connections(model);
  }
}
