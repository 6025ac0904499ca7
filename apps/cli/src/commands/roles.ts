import { usage } from '../cli-error.js';
import { addCommand, type Parent } from '../command.js';
import { describeAccess, nameRole } from '../output/render-request.js';

interface Options {
  provider?: string[];
  star?: true;
  unstar?: true;
}

/** Declares the command `belay roles [name]`, which lists the roles that the caller can request, or shows one. */
export function addRoles(parent: Parent): void {
  addCommand<Options>(parent, {
    name: 'roles [name]',
    description: 'list the roles that you can request, or show one',
    examples: [
      'roles',
      'roles reporting-readonly',
      'roles --provider demo-postgres',
      'roles reporting-readonly --star',
    ],
    values: { name: 'roles', provider: 'providers' },
    items: ({ roles }) => roles && Object.values(roles as Record<string, { role: unknown }>).map(({ role }) => role),
    options: (command) =>
      command
        .option('--provider <provider...>', 'show only roles at these providers')
        .option('--star', 'list this role first on the page of roles')
        .option('--unstar', 'remove the star of this role'),
    run: async ({ args: [name], options, output, connect, shell: { signal } }) => {
      const { star, unstar } = options;
      if ((star || unstar) && name === undefined)
        throw usage('name the role to star, for example: belay roles reader --star');
      const { client } = await connect(name === undefined ? 'any' : 'server');
      if (name !== undefined && (star || unstar)) {
        const changed = await (star ? client.roles.star(name, { signal }) : client.roles.unstar(name, { signal }));
        output.result(changed, () => (star ? `starred ${name}` : `removed the star of ${name}`));
        return undefined;
      }
      if (name !== undefined) {
        const role = await client.roles.get(name, { signal });
        output.result(role, () =>
          output.fields({
            name: nameRole(role.name, role.break_glass),
            description: role.description,
            providers: role.providers.join(', '),
            workflows: role.workflows.join(', '),
            duration: `${role.default_duration}, at most ${role.max_duration}`,
            reason: role.reason.required ? 'required' : 'not required',
            grants: role.grants.map(({ provider, access }) => `${provider}: ${describeAccess(access)}`).join('; '),
          }),
        );
        return undefined;
      }
      const list = await client.roles.list(options.provider ? { provider: options.provider } : {}, { signal });
      const roles = Object.values(list.roles).map(({ role }) => role);
      output.result(list, () =>
        output.table(
          ['Role', 'Providers', 'At most', 'Description'],
          roles.map((role) => [
            nameRole(role.name, role.break_glass),
            role.providers.join(', '),
            output.duration(role.max_duration),
            role.description,
          ]),
          'No roles that you can request',
        ),
      );
      return undefined;
    },
  });
}
