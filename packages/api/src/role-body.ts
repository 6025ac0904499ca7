import { z } from 'zod';
import { duration, name, names, remark, someNames } from './text.js';

/** A Role as a client may send it back: the documented fields and the ones we publish beside them, nothing else. */
export const roleBody = z.strictObject({
  name,
  description: remark.optional(),
  providers: someNames.optional(),
  workflows: names.optional(),
  enabled: z.boolean().optional(),
  permissions: z.strictObject({ users: names.optional(), groups: names.optional() }).optional(),
  max_duration: duration.optional(),
  default_duration: duration.optional(),
  reason: z.strictObject({ required: z.boolean(), pattern: z.string().optional() }).optional(),
  inherits: names.optional(),
  grants: z.array(z.unknown()).optional(),
});
