import type { RPCTransport } from "portway";
import { TapRecorder, tap } from "portway/tap";
import type { InspectorContext } from "../inspector/src/context";
import { Store } from "./store";

/** The maximum memory of the records that wait for the inspector. The messages of the start need about 1 MiB. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;

/**
 * Records the messages of the worker and of the preview for the inspector. The code and the wasm of the inspector are
 * loaded by `load`. Until then, the recorder holds the records.
 */
export class MessageRecorder {
  /** The inspector, or undefined until it is loaded. */
  readonly inspector = new Store<InspectorContext | undefined>(undefined);
  /** The reason why the inspector could not be loaded, or an empty string. */
  readonly fault = new Store("");
  readonly #recorder: TapRecorder;
  #loading: Promise<void> | undefined;
  #setLoaded: (inspector: InspectorContext) => void = () => {};

  constructor() {
    const loaded = new Promise<InspectorContext>((resolve) => (this.#setLoaded = resolve));
    this.#recorder = new TapRecorder({
      maxBytes: MAX_WAITING_BYTES,
      // The recorder passes on the next records only after the model has taken in these records.
      sink: async (records) => {
        const { model } = await loaded;
        model.take(records);
        await model.whenTaken();
      },
    });
  }

  /** Records the messages of a transport, and returns the transport. */
  tap<Transport extends RPCTransport>(name: string, transport: Transport): Transport {
    return tap(transport, { name, sink: this.#recorder });
  }

  /** Loads the inspector, unless it is loaded already. After a failure, a later call tries again. */
  load(): Promise<void> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  async #load(): Promise<void> {
    try {
      const { startPanel } = await import("../inspector/src/panel");
      const inspector = await startPanel();
      this.#setLoaded(inspector);
      this.fault.set("");
      this.inspector.set(inspector);
    } catch (error) {
      this.#loading = undefined;
      this.fault.set(`The inspector could not be loaded: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}
