// The methods of the peer.

export const methods = {
  echo: () => 1,
  hang: () => new Promise(() => {}),
};
