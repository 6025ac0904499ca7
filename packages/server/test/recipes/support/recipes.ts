import { readFile } from 'node:fs/promises';
import { applyCatalog, expireLogins, type LiveCatalog } from '@belay/core';
import { createRegistry, oauth2Connector, oidcConnector, samlConnector } from '@belay/providers';
import { createMemoryConnector } from '@belay/providers/testkit';
import { openBrowser } from '@belay/testkit/browser';
import { openVisitor, type Visit } from '@belay/testkit/visitor';
import { createWorld } from '@belay/testkit/world';
import { parse } from 'yaml';
import { parse as formsOf } from '../../../../providers/test/support/form.js';

export type Visitor = ReturnType<typeof openVisitor>;

interface Login {
  config: Record<string, unknown>;
  groups?: unknown;
  sign_in?: Record<string, unknown>;
}

export interface Recipe {
  /** A file of examples/sign-in. */
  file: string;
  /** The values of the variables that the file names. */
  variables: Record<string, string>;
  /** Changes what must differ from the file, because the provider is an emulator on this machine. */
  change?(login: Login): Login;
}

/** The client that is registered with each provider. */
export const client = { client_id: 'belay', client_secret: 'the-secret-of-belay' };

/** Starts a server; `follow` puts a recipe in force, as the only sign-in provider. */
export async function openRecipes() {
  const variables = new Map<string, string>();
  const resolve = (reference: string) => variables.get(reference.replace(/^env:/, ''));
  const world = await createWorld({ resolve });
  const catalog = world.context.catalog as LiveCatalog;
  const { document } = catalog.current();
  const connectors = createRegistry([
    oauth2Connector,
    oidcConnector,
    samlConnector,
    createMemoryConnector(world.store),
  ]);
  await world.database.setTime(new Date());

  return {
    world,
    callback: `${world.url}/api/v1/auth/callback/login`,

    async follow({ file, variables: given, change = (same) => same }: Recipe): Promise<void> {
      for (const [name, value] of Object.entries(given)) variables.set(name, value);
      const text = await readFile(new URL(`../../../../../examples/sign-in/${file}`, import.meta.url), 'utf8');
      const recipe = parse(text) as { providers: { login: Login }; access: object };
      const { demo: _, ...others } = document.providers;
      const providers = { ...others, login: change(recipe.providers.login) };
      const input = { document: { ...document, providers, access: recipe.access }, source: 'test' };
      await applyCatalog(world.context.db, input, { connectors, resolve });
      await catalog.refresh();
    },

    /** Signs a person in with their button on the provider's page. */
    async signIn(
      person: string,
      visitor: Visitor = openVisitor(world.url),
    ): Promise<{ visitor: Visitor; answer: Visit }> {
      const begun = await visitor.visit('/auth/request/login');
      const browser = openBrowser();
      const page = await browser.open(begun.location);
      const button = formsOf(page.body).find(({ fields }) => Object.values(fields).includes(person));
      if (!button) throw new Error(`There is no button for ${person}: ${page.status} ${page.url.href}`);
      const back = await browser.open(new URL(button.action, page.url), button.fields);
      return { visitor, answer: await visitor.visit(back.url.href, { site: 'cross-site' }) };
    },

    async whoami(visitor: Visitor) {
      const { status, json } = await visitor.visit('/auth/whoami');
      return { status, email: json.email, groups: json.groups };
    },

    /**
     * Advances the time of the database, and runs the work on logins that workers do; the provider has its own clock. Returns the
     * person as seen by their next request.
     */
    async later(minutes: number, visitor: Visitor) {
      await world.database.advance(minutes * 60_000);
      await expireLogins(world.context);
      return this.whoami(visitor);
    },

    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}
