import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findTestPort } from '@belay/testkit/ports';

export interface Front extends AsyncDisposable {
  /** The address of the proxy; with TLS, its certificate is self-signed. */
  url: string;
}

const example = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../../../../deploy/${name}`, import.meta.url)), 'utf8');
const find = (name: string) =>
  [...(process.env.PATH ?? '').split(':'), '/usr/sbin']
    .map((path) => join(path, name))
    .find((path) => existsSync(path));
const nginx = find('nginx');
const caddy = find('caddy');

/** The proxies that are installed here. `start` runs one in front of servers at these ports, with the example of deploy/. */
export const proxies: { name: string; start: (ports: readonly number[]) => Promise<Front> }[] = [
  { name: 'a balancer that keeps connections', start: startBalancer },
  ...(nginx === undefined ? [] : [{ name: 'nginx', start: (ports: readonly number[]) => startNginx(nginx, ports) }]),
  ...(caddy === undefined ? [] : [{ name: 'caddy', start: (ports: readonly number[]) => startCaddy(caddy, ports) }]),
];
for (const [name, found] of Object.entries({ nginx, caddy })) {
  if (found === undefined) console.warn(`not tested, since not installed: ${name} (apt-get install ${name})`);
}

/** Acts like a cloud load balancer: takes turns, keeps connections, checks /ready five times a second, and repeats no request. */
async function startBalancer(ports: readonly number[]): Promise<Front> {
  const agent = new Agent({ keepAlive: true });
  const ready = new Set(ports);
  const look = async () => {
    for (const port of ports) {
      const { ok } = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => ({ ok: false }));
      if (ok) ready.add(port);
      else ready.delete(port);
    }
  };
  let over = false;
  const looking = (async () => {
    while (!over) {
      await look();
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  })();
  let turn = 0;
  const server = createServer((incoming, outgoing) => {
    const usable = ready.size > 0 ? [...ready] : ports;
    const port = usable[turn++ % usable.length];
    const headers = { ...incoming.headers, 'x-forwarded-for': incoming.socket.remoteAddress };
    const onward = request({ port, host: '127.0.0.1', agent, path: incoming.url, method: incoming.method, headers });
    onward.on('response', (response) => {
      const { connection: _hop, ...own } = response.headers;
      outgoing.writeHead(response.statusCode ?? 502, own);
      response.pipe(outgoing);
      response.on('error', () => outgoing.destroy());
    });
    onward.on('error', (error) =>
      outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(502).end(error.message),
    );
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  });
  const port = await findTestPort();
  await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      over = true;
      await looking;
      agent.destroy();
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

async function startNginx(program: string, ports: readonly number[]): Promise<Front> {
  const folder = await mkdtemp(join(tmpdir(), 'belay-nginx-'));
  const [plain, port] = [await findTestPort(), await findTestPort()];
  const tls = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
  const files = ['-keyout', join(folder, 'belay.key'), '-out', join(folder, 'belay.crt'), '-subj', '/CN=localhost'];
  const made = spawnSync('openssl', [...tls, ...files]);
  if (made.status !== 0) throw new Error(String(made.stderr));
  const site = example('nginx/belay.conf')
    .replace('127.0.0.1:8081', `127.0.0.1:${ports[0]}`)
    .replace('127.0.0.1:8082', `127.0.0.1:${ports[1]}`)
    .replaceAll('/etc/nginx/belay.', join(folder, 'belay.'))
    .replace('listen 80;', `listen 127.0.0.1:${plain};`)
    .replace('listen 443', `listen 127.0.0.1:${port}`);
  await mkdir(join(folder, 'temp'));
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (of) => `${of}_temp_path ${folder}/temp/${of};`,
  );
  await writeFile(
    join(folder, 'nginx.conf'),
    `daemon off; worker_processes 1; pid ${folder}/pid; error_log stderr;
${process.getuid?.() === 0 ? 'user root;' : ''}
events {}
http { access_log off; ${temp.join(' ')}
${site}
}`,
  );
  return run(
    program,
    ['-c', join(folder, 'nginx.conf'), '-p', folder, '-e', 'stderr'],
    {},
    `https://127.0.0.1:${port}`,
    folder,
  );
}

async function startCaddy(program: string, ports: readonly number[]): Promise<Front> {
  const folder = await mkdtemp(join(tmpdir(), 'belay-caddy-'));
  const [plain, port] = [await findTestPort(), await findTestPort()];
  const own = `{\n\tadmin off\n\tskip_install_trust\n\tlocal_certs\n\thttp_port ${plain}\n\thttps_port ${port}\n`;
  await writeFile(join(folder, 'Caddyfile'), example('caddy/Caddyfile').replace(/^\{\n/m, own));
  const variables = {
    BELAY_SITE: `https://localhost:${port}`,
    BELAY_UPSTREAMS: ports.map((each) => `127.0.0.1:${each}`).join(' '),
    HOME: folder,
    XDG_DATA_HOME: folder,
    XDG_CONFIG_HOME: folder,
  };
  const args = ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'];
  return run(program, args, variables, `https://localhost:${port}`, folder);
}

async function run(program: string, args: string[], env: object, url: string, folder: string): Promise<Front> {
  const child = spawn(program, args, { env: { PATH: process.env.PATH, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += String(data)));
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
  let over = false;
  void exited.then(() => {
    over = true;
  });
  for (;;) {
    if (over) throw new Error(`${program} ended: ${said}`);
    if (
      await fetch(`${url}/ready`).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      break;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
