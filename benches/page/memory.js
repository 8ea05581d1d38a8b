// Measures the WebAssembly memory of this realm. This module records each new instance, so it must be imported first.

const instances = [];

const { instantiate, Instance } = WebAssembly;
WebAssembly.Instance = class extends Instance {
  constructor(...parameters) {
    super(...parameters);
    instances.push(this);
  }
};
WebAssembly.instantiate = async (...parameters) => {
  const made = await instantiate(...parameters);
  instances.push(made.instance ?? made);
  return made;
};

export function wasmBytes() {
  const memories = instances.flatMap(({ exports }) =>
    Object.values(exports).filter((one) => one instanceof WebAssembly.Memory),
  );
  return memories.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
}
