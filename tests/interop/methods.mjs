// What the other side serves.

export const methods = {
  echo: () => 1,
  hang: () => new Promise(() => {}),
};
