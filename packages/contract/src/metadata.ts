interface Metadata {
  openapi: { method: 'GET'; path: `/${string}`; tags: string[]; protect?: boolean; summary: string };
  rest?: {
    public?: boolean;
    atRoot?: boolean;
    html?: 'preferred' | 'offered';
    metrics?: { counters: readonly string[] };
    redirect?: { status: 302; always: boolean };
  };
}

const atRoot = { public: true, atRoot: true };

/** Where the operations are that several modes have, and what all of these modes say of them: by router, then by procedure. */
export const metadata = {
  auth: {
    page: {
      openapi: {
        method: 'GET',
        path: '/auth',
        tags: ['authentication'],
        protect: false,
        summary: 'List the providers to sign in with',
      },
      rest: { public: true, html: 'preferred', redirect: { status: 302, always: false } },
    },
  },
  configuration: {
    describe: {
      openapi: {
        method: 'GET',
        path: '/.well-known/api-configuration',
        tags: ['configuration'],
        protect: false,
        summary: 'Say what this service is and where its parts are',
      },
      rest: atRoot,
    },
  },
  logs: {
    list: {
      openapi: {
        method: 'GET',
        path: '/logs',
        tags: ['logs'],
        summary: 'Read the most recent log entries you may see: system events, user actions and the audit trail',
      },
      rest: { html: 'offered' },
    },
  },
  providers: {
    list: {
      openapi: { method: 'GET', path: '/providers', tags: ['providers'], summary: 'List the providers you may use' },
      rest: { html: 'offered' },
    },
  },
  roles: {
    list: {
      openapi: { method: 'GET', path: '/roles', tags: ['roles'], summary: 'List the roles you may ask for' },
      rest: { html: 'offered' },
    },
  },
  sessions: {
    list: {
      openapi: {
        method: 'GET',
        path: '/sessions',
        tags: ['sessions'],
        summary: 'List your active sessions by provider',
      },
    },
  },
  system: {
    health: {
      openapi: { method: 'GET', path: '/health', tags: ['system'], protect: false, summary: 'Say how the service is' },
      rest: atRoot,
    },
    ready: {
      openapi: {
        method: 'GET',
        path: '/ready',
        tags: ['system'],
        protect: false,
        summary: 'Say whether to send requests here',
      },
      rest: atRoot,
    },
    metrics: {
      openapi: { method: 'GET', path: '/metrics', tags: ['system'], protect: false, summary: 'Count what was done' },
      rest: { ...atRoot, metrics: { counters: ['total_requests', 'dropped_jobs'] } },
    },
  },
  workflows: {
    list: {
      openapi: { method: 'GET', path: '/workflows', tags: ['workflows'], summary: 'List the workflows you may start' },
      rest: { html: 'offered' },
    },
  },
} satisfies Record<string, Record<string, Metadata>>;
