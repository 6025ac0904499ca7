/** The modules of the single icons have no types. */
declare module 'lucide/dist/esm/icons/*.mjs' {
  const shape: readonly (readonly [tag: string, attributes: Readonly<Record<string, string>>])[];
  export default shape;
}
