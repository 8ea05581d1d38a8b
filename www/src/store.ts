import type { ReactiveController, ReactiveControllerHost } from "lit";

/** One observable value. */
export class Store<T> {
  #value: T;
  readonly #listeners = new Set<(value: T) => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const listener of [...this.#listeners]) listener(value);
  }

  subscribe(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/**
 * Returns a function that schedules `act` for the next animation frame. If the function is called several times before
 * this frame, `act` runs once.
 */
export function oncePerFrame(act: () => void): () => void {
  let scheduled = false;
  return () => {
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(() => {
      scheduled = false;
      act();
    });
  };
}

/** Renders a component again when one of the stores changes, as long as the component is in the document. */
export class Watch implements ReactiveController {
  readonly #host: ReactiveControllerHost;
  readonly #stores: Store<unknown>[];
  #stop: (() => void)[] = [];

  // biome-ignore lint/suspicious/noExplicitAny: `Store<number>` cannot be assigned to `Store<unknown>`.
  constructor(host: ReactiveControllerHost, ...stores: Store<any>[]) {
    this.#host = host;
    this.#stores = stores;
    host.addController(this);
  }

  hostConnected(): void {
    this.#stop = this.#stores.map((store) => store.subscribe(() => this.#host.requestUpdate()));
  }

  hostDisconnected(): void {
    for (const stop of this.#stop) stop();
    this.#stop = [];
  }
}
