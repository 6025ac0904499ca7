const nothing = { roles: [], permissions: { allow: [], deny: [] }, resources: { allow: [], deny: [] } };

/** Requests that the directory's connector must reject. */
export const nonsense = [
  { ...nothing, roles: ['DB Operators'] },
  { ...nothing, roles: ['group/'] },
  { ...nothing, roles: ['group/ operators'] },
  { ...nothing, roles: ['group/a\nb'] },
  { ...nothing, roles: [`group/${'a'.repeat(513)}`] },
  { ...nothing, roles: ['group/x'], permissions: { allow: ['read'], deny: [] } },
  { ...nothing, roles: ['group/x'], permissions: { allow: [], deny: ['read'] } },
  { ...nothing, roles: ['group/x'], resources: { allow: ['table'], deny: [] } },
  { ...nothing, roles: ['group/x'], resources: { allow: [], deny: ['table'] } },
];

export const sensible = { ...nothing, roles: ['group/DB Operators', 'group/ünïcødé, "quoted" = *'] };
