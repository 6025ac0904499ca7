import path from 'node:path';
import { CliError } from '../cli-error.js';
import type { Environment } from '../host.js';
import { launchdPlist } from './launchd-plist.js';
import type { ServiceOptions } from './service-options.js';
import { systemdUnit } from './systemd-unit.js';

/** How the agent is installed as a service of the user, on one operating system. */
export interface Service {
  file: string;
  text: string;
  /** The commands to run after the file was written, and before it is removed. */
  start: readonly string[];
  stop: readonly string[];
}

/** Returns the service for this operating system. Throws `not_configured` when it is not supported. */
export function describeService(host: Environment, options: ServiceOptions): Service {
  if (host.platform === 'linux') {
    const folder = host.variables.XDG_CONFIG_HOME || path.join(host.home, '.config');
    return {
      file: path.join(folder, 'systemd', 'user', 'belay-agent.service'),
      text: systemdUnit(options),
      start: ['systemctl --user daemon-reload', 'systemctl --user enable --now belay-agent'],
      stop: ['systemctl --user disable --now belay-agent'],
    };
  }
  if (host.platform === 'darwin') {
    const file = path.join(host.home, 'Library', 'LaunchAgents', 'dev.belay.agent.plist');
    return {
      file,
      text: launchdPlist(options),
      start: [`launchctl bootstrap gui/${host.userId ?? '$UID'} '${file}'`],
      stop: [`launchctl bootout gui/${host.userId ?? '$UID'}/dev.belay.agent`],
    };
  }
  throw new CliError('not_configured', `no service manager is supported on ${host.platform}; run: belay agent run`);
}
