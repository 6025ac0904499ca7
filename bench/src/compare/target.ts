/** Returns the system at which access is held: a set in memory, as Belay's own memory provider. */
export function createTarget() {
  const held = new Set<string>();
  return {
    async grant(person: string, role: string): Promise<void> {
      held.add(`${person} ${role}`);
    },
    async revoke(person: string, role: string): Promise<void> {
      held.delete(`${person} ${role}`);
    },
    /** Returns whether access is held. Both programs read back each change, as Belay does (R6). */
    async holds(person: string, role: string): Promise<boolean> {
      return held.has(`${person} ${role}`);
    },
  };
}
