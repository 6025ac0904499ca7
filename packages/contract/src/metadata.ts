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

/**
 * Paths and descriptions of the operations that several modes have, by router, then by procedure.
 */
export const metadata = {
  auth: {
    page: {
      openapi: {
        method: 'GET',
        path: '/auth',
        tags: ['authentication'],
        protect: false,
        summary: 'List the providers that people can sign in with',
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
        summary: 'Describe this service and its endpoints',
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
        summary: 'Read the most recent log entries that you can see: system events, user actions and the audit log',
      },
      rest: { html: 'offered' },
    },
  },
  providers: {
    list: {
      openapi: {
        method: 'GET',
        path: '/providers',
        tags: ['providers'],
        summary: 'List the providers that you can use',
      },
      rest: { html: 'offered' },
    },
  },
  roles: {
    list: {
      openapi: { method: 'GET', path: '/roles', tags: ['roles'], summary: 'List the roles that you can request' },
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
      openapi: {
        method: 'GET',
        path: '/health',
        tags: ['system'],
        protect: false,
        summary: 'Check the health of the service',
      },
      rest: atRoot,
    },
    ready: {
      openapi: {
        method: 'GET',
        path: '/ready',
        tags: ['system'],
        protect: false,
        summary: 'Check whether this process is ready for requests',
      },
      rest: atRoot,
    },
    metrics: {
      openapi: { method: 'GET', path: '/metrics', tags: ['system'], protect: false, summary: 'Read the metrics' },
      rest: { ...atRoot, metrics: { counters: ['total_requests', 'dropped_jobs'] } },
    },
  },
  workflows: {
    list: {
      openapi: {
        method: 'GET',
        path: '/workflows',
        tags: ['workflows'],
        summary: 'List the workflows that you can start',
      },
      rest: { html: 'offered' },
    },
  },
} satisfies Record<string, Record<string, Metadata>>;
