import workerUrl from "./regex-worker?worker&url";

/** The longest time in milliseconds for one call of `test`, which has about 1 MiB of text. */
const TIMEOUT_MS = 2000;

interface ScriptPolicy {
  createScriptURL(url: string): string;
}

declare global {
  interface Window {
    readonly trustedTypes?: {
      createPolicy(name: string, rules: ScriptPolicy): ScriptPolicy;
    };
  }
}

/** With Trusted Types, only a policy can create the address of a worker. This policy accepts only one address. */
const policy = window.trustedTypes?.createPolicy("portway-inspector", {
  createScriptURL(url) {
    if (url !== workerUrl) throw new TypeError(`the address of the worker must be ${workerUrl}, got ${url}`);
    return url;
  },
});

/** Tests texts with a regular expression, in a worker that is ended if a test takes too long. */
export class RegexWorker {
  readonly #pattern: string;
  readonly #worker: Worker;
  #reject: ((reason: Error) => void) | undefined;

  /** Throws a `SyntaxError` if the pattern is not a regular expression. */
  constructor(pattern: string) {
    new RegExp(pattern, "iu");
    this.#pattern = pattern;
    this.#worker = new Worker(policy?.createScriptURL(workerUrl) ?? workerUrl, { type: "module" });
  }

  /** Returns a byte for each text: 1 if it matches. Rejects after a timeout. Calls must not overlap. */
  test(texts: readonly string[]): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`the regular expression must test 1 MiB within ${TIMEOUT_MS / 1000} s`));
        this.stop();
      }, TIMEOUT_MS);
      this.#reject = (reason) => {
        clearTimeout(timer);
        reject(reason);
      };
      this.#worker.onmessage = ({ data }: MessageEvent<Uint8Array>) => {
        clearTimeout(timer);
        resolve(data);
      };
      this.#worker.onerror = () => this.#reject?.(new Error("the worker for regular expressions failed"));
      this.#worker.postMessage({ pattern: this.#pattern, texts });
    });
  }

  stop(): void {
    this.#worker.terminate();
    this.#reject?.(new Error("the search was stopped"));
  }
}
