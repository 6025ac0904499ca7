import { z } from 'zod';
import type { Target } from './access.js';

export const group = 'rbac.authorization.k8s.io';
export const labels = { manager: 'app.kubernetes.io/managed-by', entitlement: 'belay.dev/entitlement' };
export const untilAnnotation = 'belay.dev/until';

const metadata = z.object({
  name: z.string(),
  namespace: z.string().optional(),
  uid: z.string().min(1),
  resourceVersion: z.string(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
});

/** A RoleBinding or a ClusterRoleBinding. */
export const bindingSchema = z.object({
  metadata,
  roleRef: z.object({ kind: z.string(), name: z.string() }),
  subjects: z
    .array(z.object({ kind: z.string(), name: z.string(), namespace: z.string().optional() }))
    .nullish()
    .transform((list) => list ?? []),
});
export type Binding = z.infer<typeof bindingSchema>;

export const bindingList = z.object({
  metadata: z.object({ continue: z.string().optional() }),
  items: z.array(bindingSchema),
});

const ruleSchema = z.object({
  verbs: z.array(z.string()),
  apiGroups: z.array(z.string()).optional(),
  resources: z.array(z.string()).optional(),
  resourceNames: z.array(z.string()).optional(),
  nonResourceURLs: z.array(z.string()).optional(),
});
type Rule = z.infer<typeof ruleSchema>;

/** A Role or a ClusterRole. */
export const roleSchema = z.object({
  metadata,
  rules: z
    .array(ruleSchema)
    .nullish()
    .transform((list) => list ?? []),
});

export const roleList = z.object({
  metadata: z.object({ continue: z.string().optional() }),
  items: z.array(roleSchema),
});

/** Returns whether a binding gives this role to this user. The caller must know that the scope is the target's. */
export function gives({ roleRef, subjects }: Binding, { kind, role }: Target, user: string): boolean {
  return (
    roleRef.kind === kind && roleRef.name === role && subjects.some((one) => one.kind === 'User' && one.name === user)
  );
}

/** Returns whether a binding gives this role to this user and to no other subject. */
export function givesOnly(found: Binding, target: Target, user: string): boolean {
  return gives(found, target, user) && found.subjects.length === 1;
}

const writes = ['create', 'update', 'patch', 'delete', 'deletecollection'];
/** Verbs on resources with which a holder can give themselves more access, act as another user, or keep access. */
const dangers: readonly { groups: readonly string[]; resources: readonly string[]; verbs: readonly string[] }[] = [
  // The response to a patch, and to the deletion of a collection, contains the secrets, even when it changes nothing (dryRun).
  { groups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch', 'patch', 'deletecollection'] },
  { groups: [''], resources: ['serviceaccounts/token'], verbs: ['create'] },
  { groups: [''], resources: ['nodes/proxy'], verbs: ['get', ...writes] },
  { groups: [group], resources: ['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'], verbs: writes },
  {
    groups: ['certificates.k8s.io'],
    resources: ['certificatesigningrequests/approval', 'signers'],
    verbs: [...writes, 'approve', 'sign'],
  },
  {
    groups: ['admissionregistration.k8s.io'],
    resources: [
      'mutatingwebhookconfigurations',
      'validatingwebhookconfigurations',
      'mutatingadmissionpolicies',
      'validatingadmissionpolicies',
      'mutatingadmissionpolicybindings',
      'validatingadmissionpolicybindings',
    ],
    verbs: writes,
  },
  // The holder could register a server of their own for an API. It receives what others send to that API.
  { groups: ['apiregistration.k8s.io'], resources: ['apiservices'], verbs: writes },
];

/**
 * ConfigMaps of kube-system that define whom the cluster trusts: EKS maps roles of AWS to users, and extension API servers
 * read the authority that signs client certificates.
 */
const trusted = { namespace: 'kube-system', names: ['aws-auth', 'extension-apiserver-authentication'] };

/**
 * Returns whether a rule lets a holder change whom the cluster trusts. Other namespaces do not count, because most
 * roles write ConfigMaps there.
 */
function changesTrust(
  { verbs, apiGroups = [], resources = [], resourceNames = [] }: Rule,
  { namespace }: Target,
): boolean {
  if (namespace !== undefined && namespace !== trusted.namespace) return false;
  if (!apiGroups.includes('') || !resources.includes('configmaps')) return false;
  if (!['create', 'update', 'patch'].some((verb) => verbs.includes(verb))) return false;
  return resourceNames.length === 0 || trusted.names.some((name) => resourceNames.includes(name));
}

/** Beside `impersonate`, Kubernetes has verbs to impersonate only some users, and to do only single actions as another user. */
const impersonates = /^impersonate(-on)?(:|$)/;

/**
 * Returns whether one of the rules, in the scope of the target, lets a holder give themselves more access, act as another
 * person, or keep access.
 */
export function isPrivileged(rules: readonly Rule[], target: Target): boolean {
  return rules.some((rule) => {
    const { verbs, apiGroups = [], resources = [], nonResourceURLs = [] } = rule;
    if (changesTrust(rule, target)) return true;
    if (verbs.some((verb) => ['escalate', 'bind', '*'].includes(verb) || impersonates.test(verb))) return true;
    if ([...apiGroups, ...resources].some((each) => each === '*' || each.startsWith('*/'))) return true;
    if (nonResourceURLs.some((url) => url.includes('*'))) return true;
    return dangers.some(
      (danger) =>
        danger.groups.some((each) => apiGroups.includes(each)) &&
        danger.resources.some((each) => resources.includes(each)) &&
        danger.verbs.some((each) => verbs.includes(each)),
    );
  });
}
