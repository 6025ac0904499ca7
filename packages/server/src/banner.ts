import type { RunningServer } from './modes/server.js';

/** Returns the text of a start: the address, the people and next steps of the demo, and the services in use. */
export function describeServer(server: RunningServer): string {
  const { baseUrl, people, providers, worker } = server;
  const lines = [''];
  if (baseUrl !== undefined) lines.push(`  Belay ${server.program.version} is ready at ${baseUrl}`);
  else lines.push(`  Belay ${server.program.version} runs as a worker without HTTP (BELAY_WORKER=only)`);
  lines.push('');
  if (people) {
    lines.push('  This is the demo, because neither belay.yaml nor config/ exists here.');
    if (baseUrl !== undefined) {
      lines.push('', '  Who can sign in');
      const widest = Math.max(...people.map(({ name }) => name.length));
      for (const { name, email, groups } of people) {
        lines.push(
          `    ${name.padEnd(widest)}  ${email.padEnd(18)}${groups.length > 0 ? groups.join(', ') : 'no group'}`,
        );
      }
      lines.push('', '  Run the whole story in a second terminal', '    npm run demo');
    }
  } else {
    lines.push(`  Configuration  ${server.configuration}`);
    lines.push(`  Providers      ${providers.map(({ id, type }) => `${id} (${type})`).join(', ') || 'none'}`);
  }
  if (people) lines.push('');
  lines.push(`  Database       ${server.database}`);
  lines.push(`  Queue          ${server.queue === 'redis' ? 'Redis' : 'in the database'}`);
  lines.push(
    `  Worker         ${{ inline: 'in this process', off: 'in other processes', only: 'this process' }[worker]}`,
  );
  lines.push('');
  return `${lines.join('\n')}\n`;
}
