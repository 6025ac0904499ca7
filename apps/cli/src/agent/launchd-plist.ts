import path from 'node:path';
import type { ServiceOptions } from './service-options.js';

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function string(text: string): string {
  return `<string>${escapeXml(text)}</string>`;
}

/** Returns a launchd agent of the user's own (launchd.plist(5)) that starts at login and is started again when it fails. */
export function launchdPlist({ command, variables, home }: ServiceOptions): string {
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
