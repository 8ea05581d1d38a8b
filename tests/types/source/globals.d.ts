// Globals of some realms that the libraries of TypeScript lack, or declare only for another realm.

/** The scope of a dedicated worker. The library for workers cannot be combined with that for windows. */
declare class DedicatedWorkerGlobalScope extends EventTarget {}
declare function postMessage(message: unknown, transfer?: Transferable[]): void;

interface AngularZone {
  get(key: string): unknown;
  run<T>(callback: () => T): T;
}
/** The class of zone.js, which Angular loads. */
declare var Zone: (new () => AngularZone) & { readonly current: AngularZone; readonly root: AngularZone };

declare namespace setTimeout {
  /** The clock of @sinonjs/fake-timers. Real timers have none. */
  const clock: object | undefined;
}
