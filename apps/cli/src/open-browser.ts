import { spawn } from 'node:child_process';

const openers: Partial<Record<NodeJS.Platform, [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Asks the desktop to show a page. Not through a shell, since the address holds what others wrote; failing is no matter. */
export function openBrowser(url: string, platform: NodeJS.Platform): void {
  const [program, ...args] = openers[platform] ?? ['xdg-open'];
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
