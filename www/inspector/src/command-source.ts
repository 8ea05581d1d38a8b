import type { TapRecord } from "portway-inspector";
import { Store } from "../../src/store";
import { nowMicros } from "./clock";
import type { Model } from "./model";

export type CommandPhase = "connecting" | "live" | "ended" | "lost";

export interface CommandState {
  /** The name of the command, for people. */
  readonly command: string;
  readonly phase: CommandPhase;
  /** The reason of the phase, for people. */
  readonly detail: string;
}

interface Session {
  readonly command: string;
  readonly files: readonly string[];
}

/** After this number of characters, the page stops reading until their records are taken in. */
const MAX_UNTAKEN = 4 * 1024 * 1024;

const LOST = "the connection of this page to the command was lost";

/**
 * The command that serves this page: `portway inspect`, or `portway tap --inspect`. The page imports the files of the
 * command, and reads its records, one JSON object a line, until the command ends.
 */
export class CommandSource {
  readonly state = new Store<CommandState>({ command: "portway", phase: "connecting", detail: "" });
  readonly #model: Model;
  readonly #session: string;
  /** The links of the command that are open. */
  readonly #open = new Set<string>();

  constructor(model: Model, session: string) {
    this.#model = model;
    this.#session = session;
  }

  /** Returns the source, or undefined if no command serves this page. */
  static find(model: Model): CommandSource | undefined {
    const mark = document.querySelector<HTMLMetaElement>('meta[name="portway-command"]');
    return mark ? new CommandSource(model, mark.content) : undefined;
  }

  /** Reads until the command ends. */
  async read(): Promise<void> {
    try {
      const { command, files } = (await (await request(this.#session)).json()) as Session;
      this.#become("connecting", "", command);
      const { body } = await request("records");
      this.#become("live", "the records are shown as they arrive");
      await this.#import(files);
      if (body) await this.#take(body);
      this.#become("ended", "the command has ended, and sends no more records");
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#become("lost", reason);
      this.#model.notice.set(`no further records of ${this.state.value.command}: ${reason}`);
      // The page cannot receive responses over these links anymore. The close records end their pending calls.
      const at = nowMicros();
      const closed = [...this.#open].map((link) => ({ kind: "close", at, link, reason: LOST }) as const);
      this.#model.take(closed);
    }
  }

  async #import(files: readonly string[]): Promise<void> {
    const notices: string[] = [];
    for (const [index, name] of files.entries()) {
      this.#model.importText(name, await (await request(`files/${index}`)).text());
      notices.push(this.#model.notice.value);
    }
    if (notices.length) this.#model.notice.set(notices.join(" · "));
  }

  /** Takes the records of a response. Throws if the response ends without the line that reports the end. */
  async #take(body: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    // A long line arrives in many parts. The parts are joined once, when the line is complete.
    let parts: string[] = [];
    let untaken = 0;
    for (;;) {
      const { value, done } = await reader.read();
      if (done) throw new Error("the connection was closed");
      const lines = value.split("\n");
      const rest = lines.pop() ?? "";
      if (lines.length) {
        lines[0] = parts.join("") + lines[0];
        parts = [];
        // The first line of the response is empty, so empty lines are skipped.
        const received = lines.filter(Boolean).map((line) => JSON.parse(line) as TapRecord | { readonly kind: "end" });
        const records = received.filter((record): record is TapRecord => record.kind !== "end");
        for (const { kind, link } of records) {
          if (kind === "open") this.#open.add(link);
          else if (kind === "close") this.#open.delete(link);
        }
        this.#model.take(records);
        if (records.length < received.length) return;
      }
      parts.push(rest);
      untaken += value.length;
      // Without this wait, a page that is slower than the programs would fill its memory.
      if (untaken > MAX_UNTAKEN) {
        await this.#model.whenTaken();
        untaken = 0;
      }
    }
  }

  #become(phase: CommandPhase, detail: string, command = this.state.value.command): void {
    this.state.set({ command, phase, detail });
  }
}

/** Requests a path of the command. Throws if the command refuses it. */
async function request(path: string): Promise<Response> {
  const response = await fetch(path, { cache: "no-store" });
  if (!response.ok)
    throw new Error((await response.text()).trim() || `the command refused the request: ${response.status}`);
  return response;
}
