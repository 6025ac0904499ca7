/** The options to start jq: the types of Node.js leave WebAssembly to those of browsers. */
declare const WebAssembly: {
  compile(binary: Uint8Array): Promise<object>;
  instantiate: (
    module: object,
    imports: { env: { [name: string]: ((...values: number[]) => unknown) | undefined } },
  ) => Promise<{ exports: { memory: { buffer: ArrayBuffer } } }>;
};
