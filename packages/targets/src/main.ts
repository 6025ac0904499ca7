import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installTarget } from './targets/install.js';
import { findUsed, isInstalled, type TargetName, targetNames } from './targets/names.js';
import { startTarget, type Targets } from './targets/start.js';

const packages = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const say = (line: string) => void process.stdout.write(`${line}\n`);

/** `targets [names | used]`: installs and starts; `targets install [names | used]`: installs; `targets list`: lists. */
async function main([command, ...rest]: string[]): Promise<void> {
  if (command === 'list') {
    const used = findUsed(packages);
    for (const name of targetNames) {
      say(
        `${name.padEnd(14)}${isInstalled(name) ? 'installed' : 'missing'}${used.includes(name) ? ', used by tests' : ''}`,
      );
    }
    return;
  }
  const given = command === 'install' ? rest : command === undefined ? [] : [command, ...rest];
  const names = given[0] === 'used' ? findUsed(packages) : given.length > 0 ? given.map(readName) : [...targetNames];
  for (const name of names) await installTarget(name, say);
  if (command !== 'install') await startAll(names);
}

async function startAll(names: readonly TargetName[]): Promise<void> {
  const running: AsyncDisposable[] = [];
  const stop = async () => {
    for (const target of running.splice(0).reverse()) await target[Symbol.asyncDispose]();
  };
  try {
    for (const name of names.filter((each): each is keyof Targets => each !== 'scim2-tester' && each !== 'helm')) {
      const target = await startTarget(name);
      running.push(target);
      say(`${name}: ${JSON.stringify(target, (key, value) => (key === 'ca' && value.length > 200 ? '(PEM)' : value))}`);
    }
    say('Running until Ctrl-C.');
    const kept = setInterval(() => {}, 60_000);
    await new Promise<void>((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
    });
    clearInterval(kept);
  } finally {
    await stop();
  }
}

function readName(text: string): TargetName {
  const name = targetNames.find((each) => each === text);
  if (!name) throw new Error(`${text} is not a target; there are: ${targetNames.join(', ')}`);
  return name;
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
