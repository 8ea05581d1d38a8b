// How much memory the WebAssembly of this realm has: instances are noted as they are made. To be imported first.

const instances = [];

const { instantiate, Instance } = WebAssembly;
WebAssembly.Instance = class extends Instance {
  constructor(...given) {
    super(...given);
    instances.push(this);
  }
};
WebAssembly.instantiate = async (...given) => {
  const made = await instantiate(...given);
  instances.push(made.instance ?? made);
  return made;
};

export function wasmBytes() {
  const memories = instances.flatMap(({ exports }) =>
    Object.values(exports).filter((one) => one instanceof WebAssembly.Memory),
  );
  return memories.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
}
