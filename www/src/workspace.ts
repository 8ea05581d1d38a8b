import init from "portway";
import { BuildClient } from "./build-client";
import { ConsoleLog } from "./console-log";
import { MessageLog } from "./message-log";
import { PreviewClient } from "./preview-client";
import { Project } from "./project";
import type { SourcePosition } from "./source-position";
import { Store } from "./store";

const QUIET = 300;

/** The parts of the playground and what they do to each other; components render it. */
class Workspace {
  readonly project = new Project();
  readonly messages = new MessageLog();
  readonly console = new ConsoleLog();
  readonly builds = new BuildClient(this.messages, this.console);
  readonly preview = new PreviewClient(this.messages, this.console);
  readonly openFile = new Store("src/App.tsx");
  /** Where the editor should put its cursor next. */
  readonly target = new Store<SourcePosition | undefined>(undefined);
  readonly cursor = new Store({ line: 1, column: 1 });
  /** Counts resets, after which the editor's texts are void. */
  readonly generation = new Store(0);
  #timer: ReturnType<typeof setTimeout> | undefined;

  async start(): Promise<void> {
    await init();
    this.builds.start(await this.project.open());
    this.generation.set(1);
    await this.buildNow();
  }

  /** Stores an edit and builds once the typing pauses. */
  async edit(path: string, text: string): Promise<void> {
    await this.project.write(path, text);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.buildNow(), QUIET);
  }

  async buildNow(): Promise<void> {
    clearTimeout(this.#timer);
    if (await this.builds.build()) await this.preview.show();
  }

  goTo(position: SourcePosition): void {
    if (!this.project.files.value.includes(position.file)) return;
    this.openFile.set(position.file);
    this.target.set({ ...position });
  }

  async createFile(path: string): Promise<void> {
    if (!this.project.files.value.includes(path)) await this.project.write(path, "");
    this.openFile.set(path);
  }

  async deleteFile(path: string): Promise<void> {
    await this.project.remove(path);
    if (this.openFile.value === path) this.openFile.set(this.project.files.value[0] ?? "");
    await this.buildNow();
  }

  async reset(): Promise<void> {
    await this.project.reset();
    this.openFile.set("src/App.tsx");
    this.generation.set(this.generation.value + 1);
    await this.buildNow();
  }
}

export const workspace = new Workspace();
