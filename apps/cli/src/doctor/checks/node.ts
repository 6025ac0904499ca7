import { type Check, failed, ok } from '../check.js';

const oldest = [20, 19] as const;

/** Node is new enough (`engines` of the repository). */
export const node: Check = {
  name: 'node',
  run: async ({ host: { nodeVersion } }) => {
    const [major = 0, minor = 0] = nodeVersion.replace(/^v/, '').split('.').map(Number);
    const enough = major > oldest[0] || (major === oldest[0] && minor >= oldest[1]);
    return enough
      ? ok(`Node ${nodeVersion}`)
      : failed(`Node ${nodeVersion} is too old`, `install Node ${oldest.join('.')} or newer`);
  },
};
