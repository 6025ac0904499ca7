import type { VNode } from 'preact';
import { Icon, type IconName } from './icon.js';

/** The icon of a system, by a part of the connector's type; vendors' logos are not used. */
const glyphs: readonly [RegExp, IconName, tint: number][] = [
  [/postgres|mysql|mariadb|sql|mongo|redis/, 'database', 0],
  [/kubernetes|k8s/, 'container', 1],
  [/aws|gcp|google_cloud|azure|cloud/, 'cloud', 3],
  [/github|gitlab|git/, 'git-branch', 5],
  [/okta|entra|google|keycloak|ldap|oidc|saml|scim|oauth/, 'users', 2],
  [/slack|teams|webhook/, 'message-square', 4],
  [/email|smtp|mail/, 'mail', 4],
  [/llm|openai|anthropic/, 'sparkles', 1],
  [/vault|secret|kms/, 'lock', 3],
  [/http|rest|api/, 'globe', 0],
];

/** Renders the icon of a system by its connector's type (`postgres`), or by its id if the type is not known. */
export function Glyph({ type, small = false }: { type: string; small?: boolean }): VNode {
  const [, icon, tint] = glyphs.find(([pattern]) => pattern.test(type.toLowerCase())) ?? [
    undefined,
    'server' as const,
    5,
  ];
  return (
    <span class={`glyph tint-${tint}${small ? ' small' : ''}`} aria-hidden="true">
      <Icon name={icon} />
    </span>
  );
}

/** Renders a system: its icon and its name. */
export function System({ name, type = name }: { name: string; type?: string | undefined }): VNode {
  return (
    <span class="system">
      <Glyph type={type} small />
      {name}
    </span>
  );
}
