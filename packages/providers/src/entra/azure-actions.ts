import { z } from 'zod';

/** What a role of Azure permits, or what a caller may do at a scope. */
export const permissionsSchema = z.object({
  actions: z.array(z.string()).default([]),
  notActions: z.array(z.string()).default([]),
});
export type Permissions = z.infer<typeof permissionsSchema>;

/** Returns whether an action is permitted; those in the list may have asterisks. */
export function permits(list: readonly Permissions[], action: string): boolean {
  const covers = (pattern: string) => {
    const parts = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
    return new RegExp(`^${parts.join('.*')}$`, 'i').test(action);
  };
  return list.some(({ actions, notActions }) => actions.some(covers) && !notActions.some(covers));
}
