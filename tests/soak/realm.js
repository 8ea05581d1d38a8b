// What a worker or a frame does in the soak: has its end of the link with the page, and ends of links that come and go.

import { figures } from "./instruments.js";
import { PATIENCE } from "./kinds.js";
import { answer } from "./control.js";
import { Lane } from "./lane.js";
import { Service } from "./service.js";

const OPTIONS = { timeout: PATIENCE };

/** Runs a realm that talks to `owner`, by plain transports or by `connect`. `source` and `post` are for the control. */
export function runRealm({ portway, source, post, owner, transport }) {
  let service;
  let lane;
  /** How many of the ends that come and go are there. */
  let open = 0;
  const served = new Service(1_000_000);

  function visit(peer) {
    open++;
    let isOpen = true;
    return () => {
      if (isOpen) open--;
      isOpen = false;
      peer.destroy();
    };
  }

  answer(source, post, {
    /** The end that stays; with `connects` made by `connect`. */
    async start({ name, total, seed, connects }) {
      service = new Service(total);
      let peer;
      if (connects) {
        const methods = service.methods(portway, () => peer);
        peer = await portway.connect(owner, { ...OPTIONS, methods, notifications: service.notifications() });
      } else {
        peer = service.serve(new portway.JSONRPCPeer(transport(), OPTIONS), portway);
      }
      lane = new Lane(name, peer, portway, total, seed);
    },
    run: ({ count, ms }) => lane.run(count, ms),
    figures,
    progress: () => lane.ended,
    ledger: () => ({ lane: lane.ledger(), service: service.ledger() }),
    /** What the page's end served of the calls that were made here. */
    compare: ({ served }) => lane.compare(served),

    /** A plain end on a port. It goes when it is told to. */
    servePort({ port }) {
      const peer = served.serve(new portway.JSONRPCPeer(portway.portTransport(port), OPTIONS), portway);
      peer.onNotify("leave", visit(peer));
    },
    /** An end made by `connect`, on a port or on the owner of this realm. It goes when it is told to, or when the page does. */
    async serveConnected({ port, channel }) {
      let leave = () => {};
      let peer;
      const options = {
        ...OPTIONS,
        channel,
        methods: served.methods(portway, () => peer),
        notifications: { ...served.notifications(), leave: () => leave() },
        onLost: () => leave(),
      };
      peer = await portway.connect(port ?? owner, options);
      const go = visit(peer);
      leave = () => {
        go();
        port?.close();
      };
    },
    open: () => open,
  });
}
