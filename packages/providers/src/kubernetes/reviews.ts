import { z } from 'zod';
import type { HttpClient } from '../http/client.js';

const reviewSchema = z.object({ status: z.object({ allowed: z.boolean() }) });

export interface Action {
  verb: string;
  resource: string;
  group: string;
  namespace?: string;
  name?: string;
}

/** Returns the actions that the cluster does not permit to the connector, each as its verb and resource. */
export async function findMissing(
  client: HttpClient,
  actions: readonly Action[],
  signal: AbortSignal,
): Promise<string[]> {
  const allowed = await Promise.all(
    actions.map(async (resourceAttributes) => {
      const review = await client.ask(
        {
          method: 'POST',
          path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
          json: {
            apiVersion: 'authorization.k8s.io/v1',
            kind: 'SelfSubjectAccessReview',
            spec: { resourceAttributes },
          },
          schema: reviewSchema,
        },
        signal,
      );
      return review.status.allowed;
    }),
  );
  return actions.filter((_, index) => !allowed[index]).map(({ verb, resource }) => `${verb} ${resource}`);
}
