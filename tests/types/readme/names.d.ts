// Declares the names of an application that the code of README.md uses.

declare const worker: Worker;
declare const frame: HTMLIFrameElement;
declare const client: import("portway").JSONRPCClient;
declare const server: import("portway").JSONRPCServer;
declare const transport: import("portway").RPCTransport;
declare const methods: Record<string, (params: any) => unknown>;
declare const router: { go(url: string): void };
declare class AxiosError extends Error {
  response?: { status: number };
}
declare function readFromProject(url: string): string;
declare function show(...values: unknown[]): void;
declare function fail(message: string): void;
declare function showSpinner(reason: string): void;
declare function hideSpinner(session: number): void;
declare function tail(level: string, options: { signal: AbortSignal }): AsyncIterable<string>;
