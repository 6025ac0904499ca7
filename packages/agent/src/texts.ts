/** All texts of the agent's pages, in one place for review. */
export const texts = {
  document: (title: string) => `${title} · Belay agent`,
  empty: 'Nothing to show',
  failed: 'The request failed',
  signedIn: 'You are signed in',
  session: (provider: string, email: string) =>
    `This machine has a session with ${provider} for ${email}. You can close this page.`,
  listings: {
    providers: { title: 'Providers', name: 'Name', kind: 'Kind', description: 'Description' },
    roles: { title: 'Roles', name: 'Name', description: 'Description', providers: 'Providers', duration: 'At most' },
    workflows: { title: 'Workflows', name: 'Name', description: 'Description' },
    logs: { title: 'Log', time: 'Time', level: 'Level', message: 'Message', user: 'Person' },
  },
  introduction: {
    title: 'This is a Belay agent',
    mode: (mode: string, version: string) =>
      `It runs in ${mode} mode, version ${version}, for the person who uses this machine, and responds to programs of this machine only. Its server is `,
    server: ', where access is requested and decided.',
    readable: 'What can be read here:',
    status: ' shows its state. The interface is described at ',
  },
};
