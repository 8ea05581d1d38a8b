// The methods of the peer in all events.

export const methods = {
  echo: () => 1,
  hang: () => new Promise(() => {}),
};
