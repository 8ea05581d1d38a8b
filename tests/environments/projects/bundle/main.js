// The program that the tests bundle. Prints the result of a call, or the error of init().

import init, { connect } from "portway";

async function main() {
  await init();
  const { port1, port2 } = new MessageChannel();
  const [peer, other] = await Promise.all([connect(port1), connect(port2, { methods: { add: ([a, b]) => a + b } })]);
  console.log(await peer.request("add", [1, 2]));
  peer.destroy();
  other.destroy();
}

main().catch(({ message }) => console.log(message));
