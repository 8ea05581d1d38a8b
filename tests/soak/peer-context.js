// Runs a worker or an iframe of the soak. It has one permanent link to the page, and short-lived links.

import { figures } from "./instruments.js";
import { TEST_TIMEOUT_MS } from "./workloads.js";
import { answer } from "./control.js";
import { Caller } from "./caller.js";
import { Service } from "./service.js";

const OPTIONS = { timeout: TEST_TIMEOUT_MS };

/**
 * Runs a context that is linked to `owner` by plain transports or by `connect`. `control.js` uses `source` and `post`.
 */
export function runPeerContext({ portway, source, post, owner, transport }) {
  let service;
  let caller;
  /** The number of open short-lived peers. */
  let open = 0;
  const shortLivedService = new Service(1_000_000);

  function track(peer) {
    open++;
    let isOpen = true;
    return () => {
      if (isOpen) open--;
      isOpen = false;
      peer.destroy();
    };
  }

  answer(source, post, {
    /** Opens the peer of the permanent link. If `usesConnect` is true, `connect` creates this peer. */
    async start({ name, total, seed, usesConnect }) {
      service = new Service(total);
      let peer;
      if (usesConnect) {
        const methods = service.methods(portway, () => peer);
        peer = await portway.connect(owner, { ...OPTIONS, methods, notifications: service.notifications() });
      } else {
        peer = service.serve(new portway.JSONRPCPeer(transport(), OPTIONS), portway);
      }
      caller = new Caller(name, peer, portway, total, seed);
    },
    run: ({ count, ms }) => caller.run(count, ms),
    figures,
    progress: () => caller.ended,
    ledger: () => ({ caller: caller.ledger(), service: service.ledger() }),
    /** Compares the calls of this context with those that the page served. */
    compare: ({ served }) => caller.compare(served),

    /** Opens a plain peer on a port. The notification `leave` destroys this peer. */
    servePort({ port }) {
      const peer = shortLivedService.serve(new portway.JSONRPCPeer(portway.portTransport(port), OPTIONS), portway);
      peer.onNotify("leave", track(peer));
    },
    /**
     * Opens a peer by `connect`, on a port or on the owner of this context. The notification `leave` or the end of its
     * session destroys this peer.
     */
    async serveConnected({ port, channel }) {
      let leave = () => {};
      let peer;
      const options = {
        ...OPTIONS,
        channel,
        methods: shortLivedService.methods(portway, () => peer),
        notifications: { ...shortLivedService.notifications(), leave: () => leave() },
        onLost: () => leave(),
      };
      peer = await portway.connect(port ?? owner, options);
      const close = track(peer);
      leave = () => {
        close();
        port?.close();
      };
    },
    open: () => open,
  });
}
