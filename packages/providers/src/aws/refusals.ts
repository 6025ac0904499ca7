import { Terminal } from '../errors.js';
import { type AwsConfig, readDuration } from './config.js';
import type { Instance, PermissionSet } from './directory.js';

/** Throws `Terminal` for the management account, unless the configuration permits it. */
export function refuseAccount(config: AwsConfig, { owner }: Instance, account: string): void {
  if (account !== owner || config.allow_management_account) return;
  throw new Terminal(
    'The account is the management account of the organization; to permit this, set allow_management_account for the provider',
  );
}

/** Throws `Terminal` when sessions of a permission set could outlive the access by more than the configuration states. */
export function refuseSession(config: AwsConfig, { session }: PermissionSet): void {
  const longest = readDuration(config.max_session_duration) ?? 0;
  if (session !== undefined && session <= longest) return;
  throw new Terminal(
    `Sessions of the permission set last longer than max_session_duration (${config.max_session_duration}); ` +
      'shorten them, or raise max_session_duration for the provider',
  );
}
