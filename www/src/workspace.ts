import init from "portway";
import { BuildClient } from "./build-client";
import { ConsoleLog } from "./console-log";
import { MessageRecorder } from "./message-recorder";
import { PreviewClient } from "./preview-client";
import { Project } from "./project";
import type { SourcePosition } from "./source-position";
import { Store } from "./store";

const BUILD_DELAY_MS = 300;

/** The state of the playground, which the components render. Connects the project, the builds and the preview. */
class Workspace {
  readonly project = new Project();
  readonly messages = new MessageRecorder();
  readonly console = new ConsoleLog();
  readonly builds = new BuildClient(this.messages, this.console);
  readonly preview = new PreviewClient(this.messages, this.console);
  readonly openFile = new Store("src/App.tsx");
  /** The position to which the editor must move its cursor, or undefined. */
  readonly target = new Store<SourcePosition | undefined>(undefined);
  readonly cursor = new Store({ line: 1, column: 1 });
  /**
   * The number of times that the sample project was written. After a change of this number, the editor discards its
   * texts.
   */
  readonly generation = new Store(0);
  readonly #unsaved = new Map<string, string>();
  #saving = Promise.resolve();
  #timer: ReturnType<typeof setTimeout> | undefined;

  async start(): Promise<void> {
    await init();
    this.builds.start(await this.project.open());
    this.generation.set(1);
    await this.buildNow();
    // The inspector is loaded after the first build, so that it does not delay this build. It is loaded before the user
    // opens its tab, because the inspector can hold more messages than the recorder.
    void this.messages.load();
  }

  /** Stores an edit. Builds when the user has typed nothing for `BUILD_DELAY_MS`. */
  edit(path: string, text: string): void {
    this.#unsaved.set(path, text);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.buildNow(), BUILD_DELAY_MS);
  }

  async buildNow(): Promise<void> {
    clearTimeout(this.#timer);
    // A build that continues to run would read both old and new files.
    this.builds.cancel();
    this.#saving = this.#saving.then(() => this.#save());
    await this.#saving;
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
    this.#unsaved.delete(path);
    await this.project.remove(path);
    if (this.openFile.value === path) this.openFile.set(this.project.files.value[0] ?? "");
    await this.buildNow();
  }

  async reset(): Promise<void> {
    this.#unsaved.clear();
    await this.project.reset();
    this.openFile.set("src/App.tsx");
    this.generation.set(this.generation.value + 1);
    await this.buildNow();
  }

  async #save(): Promise<void> {
    for (const [path, text] of this.#unsaved) {
      this.#unsaved.delete(path);
      await this.project.write(path, text);
    }
  }
}

export const workspace = new Workspace();
