/** Answers what a reference such as `env:NAME` stands for, or undefined when nothing does. */
export type ResolveReference = (reference: string) => string | undefined;

/**
 * Resolves `env:NAME` from the given variables (design §15). References of other kinds have no source yet and stay
 * undefined, which the catalog refuses. A variable that is set to nothing counts as not set.
 */
export function createReferenceResolver(variables: Record<string, string | undefined>): ResolveReference {
  return (reference) => {
    const name = /^env:(.+)$/.exec(reference)?.[1];
    if (name === undefined || !Object.hasOwn(variables, name)) return undefined;
    return variables[name] || undefined;
  };
}
