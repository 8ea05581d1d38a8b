// Globals of some realms that the libraries of TypeScript lack, or declare only for another realm.

/** The scope of a dedicated worker. TypeScript cannot combine its library for workers with its library for windows. */
declare class DedicatedWorkerGlobalScope extends EventTarget {}
declare function postMessage(message: unknown, transfer?: Transferable[]): void;

interface AngularZone {
  get(key: string): unknown;
  run<T>(callback: () => T): T;
}
/** The class of zone.js, which Angular loads. */
declare var Zone: (new () => AngularZone) & { readonly current: AngularZone; readonly root: AngularZone };

declare namespace setTimeout {
  /** The clock of @sinonjs/fake-timers. Real timers have no clock. */
  const clock: object | undefined;
}
