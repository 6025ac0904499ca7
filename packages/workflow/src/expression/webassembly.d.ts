/** The part of WebAssembly that starts jq. Only the types of browsers declare WebAssembly, and they are not used here. */
declare const WebAssembly: {
  compile(binary: Uint8Array): Promise<object>;
  instantiate: (
    module: object,
    imports: { env: { [name: string]: ((...values: number[]) => unknown) | undefined } },
  ) => Promise<{ exports: { memory: { buffer: ArrayBuffer } } }>;
};
