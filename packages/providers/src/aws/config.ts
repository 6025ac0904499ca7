import { z } from 'zod';
import { readDuration } from '../duration.js';
import { awsSettings, keyPair } from '../services/config.js';

/** Sessions of permission sets last from one to twelve hours (IAM Identity Center, "Set session duration"), in milliseconds. */
const shortest = 3_600_000;
const longest = 12 * shortest;

/** Names of permission sets, as IAM Identity Center permits them. */
const permissionSet = /^permission-set\/([\w+=,.@-]{1,32})$/;
/** Display names of groups: no control characters. */
const group = /^group\/([\p{L}\p{M}\p{S}\p{N}\p{P} ]{1,1024})$/u;

const duration = z.string().refine(isSessionDuration, {
  message: 'must be an ISO 8601 duration from PT1H to PT12H, the limits of AWS for the sessions of a permission set',
});

const settings = z.strictObject({
  ...awsSettings,
  /** The ARN of the organization's instance of IAM Identity Center. */
  instance: z
    .string()
    .regex(
      /^arn:aws[a-z-]*:sso:::instance\/(sso)?ins-[a-zA-Z0-9.-]{16}$/,
      'must be the ARN of an instance, for example arn:aws:sso:::instance/ssoins-1234567890abcdef',
    ),
  /** How a person maps to a user: the user with the e-mail address, or the user whose user name is the e-mail address. */
  identity: z.enum(['email', 'username']).default('email'),
  /** Permission sets with longer sessions are not granted: an open session can outlive the access by its whole duration. */
  max_session_duration: duration.default('PT1H'),
  /** Permits access to the account that owns the organization, which no service control policy limits. */
  allow_management_account: z.boolean().default(false),
  /** Permission sets and groups that only Belay grants: the drift audit lists every holder. */
  exclusive: z
    .array(
      z
        .string()
        .refine(
          (name) => permissionSet.test(name) || group.test(name),
          'must be permission-set/<name> or group/<name>',
        ),
    )
    .default([]),
});

/** The configuration of a provider of type `aws`. */
export const awsConfig = settings.refine(keyPair.test, { path: ['secret_access_key'], message: keyPair.message });

export type AwsConfig = z.infer<typeof settings>;

/** Returns the name of the permission set that a role names, or undefined when it names something else. */
export function readPermissionSet(role: string): string | undefined {
  return permissionSet.exec(role)?.[1];
}

/** Returns the name of the group that a role names, or undefined when it names something else. */
export function readGroup(role: string): string | undefined {
  return group.exec(role)?.[1];
}

function isSessionDuration(text: string): boolean {
  const length = readDuration(text);
  return length !== undefined && length >= shortest && length <= longest;
}
