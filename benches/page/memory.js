// Measures the WebAssembly memory of this realm. This module records each new instance. So it must be imported before
// the modules that create instances.

const instances = [];

const { instantiate, instantiateStreaming, Instance } = WebAssembly;
WebAssembly.Instance = class extends Instance {
  constructor(...parameters) {
    super(...parameters);
    instances.push(this);
  }
};
WebAssembly.instantiate = async (...parameters) => {
  // The result is an instance, or an object with a module and an instance.
  const result = await instantiate(...parameters);
  instances.push(result.instance ?? result);
  return result;
};
WebAssembly.instantiateStreaming = async (...parameters) => {
  const result = await instantiateStreaming(...parameters);
  instances.push(result.instance);
  return result;
};

export function wasmBytes() {
  const memories = instances.flatMap(({ exports }) =>
    Object.values(exports).filter((value) => value instanceof WebAssembly.Memory),
  );
  return memories.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
}
