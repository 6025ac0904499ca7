import path from 'node:path';
import { CliError } from '../cli-error.js';
import type { Environment } from '../host.js';

/** What the service is to run. */
export interface ServiceOptions {
  /** The command line, program first. */
  command: readonly string[];
  /** Variables for the service, in addition to the user's own environment. */
  variables: Readonly<Record<string, string>>;
  /** The agent's data folder. Under systemd, the agent can write to this folder only. */
  dataDirectory: string;
  home: string;
}

/** How the agent is installed as a service of the user, on one operating system. */
export interface Service {
  file: string;
  text: string;
  /** What the service manager made beside the file, so that it starts the service at the next login. */
  links: readonly string[];
  /** The commands with which a person starts the service, and stops it after the file was removed. */
  start: readonly string[];
  stop: readonly string[];
}

/** Returns the service for this operating system. Throws `not_configured` when it is not supported. */
export function describeService(host: Environment, options: ServiceOptions): Service {
  if (host.platform === 'linux') {
    const folder = path.join(host.variables.XDG_CONFIG_HOME || path.join(host.home, '.config'), 'systemd', 'user');
    return {
      file: path.join(folder, 'belay-agent.service'),
      text: systemdUnit(options),
      links: [path.join(folder, 'default.target.wants', 'belay-agent.service')],
      start: ['systemctl --user daemon-reload', 'systemctl --user enable --now belay-agent'],
      // Not `disable`, which fails without the file.
      stop: ['systemctl --user stop belay-agent', 'systemctl --user daemon-reload'],
    };
  }
  if (host.platform === 'darwin') {
    const file = path.join(host.home, 'Library', 'LaunchAgents', 'dev.belay.agent.plist');
    return {
      file,
      text: launchdPlist(options),
      links: [],
      start: [`launchctl bootstrap gui/${host.userId ?? '$UID'} '${file}'`],
      stop: [`launchctl bootout gui/${host.userId ?? '$UID'}/dev.belay.agent`],
    };
  }
  throw new CliError('not_configured', `no service manager is supported on ${host.platform}; run: belay agent run`);
}

/** Quotes a word for systemd, so that specifiers such as `%h` are not expanded (systemd.syntax, systemd.unit). */
function quote(word: string): string {
  return `"${word.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%')}"`;
}

/** Quotes a word of a command line, where `$` starts a variable. */
function quoteArgument(word: string): string {
  return quote(word).replaceAll('$', '$$$$');
}

/**
 * Returns a systemd user unit that runs the agent with few privileges: it can write to its own folder only, gain no privileges and use a
 * bounded share of the machine. `MemoryDenyWriteExecute` is left out, because Node.js needs executable memory.
 */
function systemdUnit({ command, variables, dataDirectory }: ServiceOptions): string {
  const environment = Object.entries(variables).map(([name, value]) => `Environment=${quote(`${name}=${value}`)}`);
  return `[Unit]
Description=Belay agent
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
Type=exec
ExecStart=${command.map(quoteArgument).join(' ')}
${environment.map((line) => `${line}\n`).join('')}Restart=on-failure
RestartSec=5
TimeoutStopSec=15
UMask=0077
MemoryHigh=160M
MemoryMax=240M
TasksMax=64
NoNewPrivileges=yes
PrivateTmp=yes
ProtectSystem=strict
ProtectHome=read-only
ReadWritePaths=${quote(dataDirectory)}
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectControlGroups=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictNamespaces=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
SystemCallArchitectures=native

[Install]
WantedBy=default.target
`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function string(text: string): string {
  return `<string>${escapeXml(text)}</string>`;
}

/** Returns a launchd agent of the user's own (launchd.plist(5)) that starts at login and is started again when it fails. */
function launchdPlist({ command, variables, home }: ServiceOptions): string {
  const log = path.join(home, 'Library', 'Logs', 'belay-agent.log');
  const environment = Object.entries(variables).map(
    ([name, value]) => `    <key>${escapeXml(name)}</key>\n    ${string(value)}\n`,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>dev.belay.agent</string>
  <key>ProgramArguments</key>
  <array>
${command.map((word) => `    ${string(word)}\n`).join('')}  </array>
  <key>EnvironmentVariables</key>
  <dict>
${environment.join('')}  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ProcessType</key>
  <string>Background</string>
  <key>Umask</key>
  <integer>63</integer>
  <key>StandardOutPath</key>
  ${string(log)}
  <key>StandardErrorPath</key>
  ${string(log)}
</dict>
</plist>
`;
}
