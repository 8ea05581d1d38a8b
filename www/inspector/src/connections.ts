import { Store } from "../../src/store";
import { DummyLink } from "./dummy-link";
import type { Model } from "./model";
import { type OwnLink, SocketLink, type SocketOptions } from "./socket-link";

/** The links that this page has opened, and the messages that the user has sent over them. */
export class Connections {
  readonly links = new Store<readonly OwnLink[]>([]);
  /** The id of the link to which the composer sends. */
  readonly target = new Store("");
  /** The texts that were sent, newest first. The browser does not store them, because they may contain secrets. */
  readonly history = new Store<readonly string[]>([]);
  readonly saved: SavedMessages;
  /** The text of the composer. */
  readonly draft = new Store("");
  readonly #model: Model;
  #last = 0;

  constructor(model: Model) {
    this.#model = model;
    this.saved = new SavedMessages();
  }

  openSocket(options: SocketOptions): void {
    this.#add((id, changed) => new SocketLink(id, options, (record) => this.#model.take([record]), changed));
  }

  openDummy(): void {
    this.#add((id, changed) => new DummyLink(id, (record) => this.#model.take([record]), changed));
  }

  /** Closes a link, and removes it from the links of this page. Its messages stay. */
  close(link: OwnLink): void {
    link.disconnect();
    this.links.set(this.links.value.filter((each) => each !== link));
    if (this.target.value === link.id) this.target.set(this.links.value.at(-1)?.id ?? "");
  }

  get targetLink(): OwnLink | undefined {
    return this.links.value.find(({ id }) => id === this.target.value);
  }

  /** Sends a text over the target. Throws if no link is open. */
  send(text: string): void {
    const link = this.targetLink;
    if (!link) throw new Error("a message needs a connection: connect to a server, or use the dummy server");
    link.send(text);
    this.history.set([text, ...this.history.value.filter((each) => each !== text)].slice(0, HISTORY));
  }

  #add(open: (id: string, changed: () => void) => OwnLink): void {
    this.#last += 1;
    const id = `inspector-${Math.floor(performance.timeOrigin)}-${this.#last}`;
    // The constructor of a link may call `changed`. At that time, the list does not contain the link yet.
    const link = open(id, () => this.links.set([...this.links.value]));
    this.links.set([...this.links.value, link]);
    this.target.set(id);
  }
}

/** The maximum number of sent texts that the page remembers. */
const HISTORY = 50;

export interface SavedMessage {
  readonly name: string;
  readonly text: string;
}

/** The key under which the browser stores the saved messages. */
const SAVED_KEY = "portway-inspector-saved";

/** Messages that the user has saved under a name. The browser stores them. Only a click of the user sends one. */
export class SavedMessages {
  readonly all = new Store<readonly SavedMessage[]>(read());

  /** Saves a message. A message with the same name is replaced. Throws if the browser refuses to store it. */
  add(name: string, text: string): void {
    this.#set([...this.all.value.filter((each) => each.name !== name), { name, text }]);
  }

  remove(name: string): void {
    this.#set(this.all.value.filter((each) => each.name !== name));
  }

  #set(all: readonly SavedMessage[]): void {
    localStorage.setItem(SAVED_KEY, JSON.stringify(all));
    this.all.set(all);
  }
}

function read(): SavedMessage[] {
  try {
    const all: unknown = JSON.parse(localStorage.getItem(SAVED_KEY) ?? "[]");
    if (!Array.isArray(all)) return [];
    return all.filter(
      (each: SavedMessage | null) => typeof each?.name === "string" && typeof each.text === "string",
    ) as SavedMessage[];
  } catch {
    return [];
  }
}
