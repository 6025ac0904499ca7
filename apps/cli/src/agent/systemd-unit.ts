import type { ServiceOptions } from './service-options.js';

/** Quotes a word for systemd, so that specifiers and variables are not expanded (systemd.syntax, systemd.service). */
function quote(word: string): string {
  return `"${word.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%')}"`;
}

/** Quotes a word of a command line, where `$` starts a variable. */
function quoteArgument(word: string): string {
  return quote(word).replaceAll('$', '$$$$');
}

/**
 * Returns a systemd user unit that runs the agent with few rights: it may write to its own folder alone, gain no privileges and
 * take a bounded share of the machine. Memory may not be made executable in most units; Node has to, so it is not forbidden.
 */
export function systemdUnit({ command, variables, dataDirectory }: ServiceOptions): string {
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
