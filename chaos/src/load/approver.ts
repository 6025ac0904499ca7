import type { AccessRequest } from '../history.js';
import type { Random } from '../seed.js';
import type { Client } from './client.js';

export interface Approver {
  /** Finds the request in the inbox and decides it, with the digest that the inbox shows. */
  decide(request: AccessRequest, verdict: 'approve' | 'deny'): Promise<void>;
}

export function createApprover(client: Client, random: Random): Approver {
  return {
    async decide(request, verdict) {
      const first = random.between(0, 1);
      const { body } = await client.call({
        operation: 'inbox',
        method: 'GET',
        path: `/api/v1/approvals?id=${request.ids[0]}`,
        first,
      });
      const [item] = (body as { approvals: { id: string; request_digest: string }[] }).approvals;
      if (!item) return;
      await client.call({
        operation: verdict,
        method: 'POST',
        path: `/api/v1/approvals/${item.id}/decision`,
        body: { verdict, request_digest: item.request_digest },
        // 409: an earlier attempt, whose answer was lost, has decided it.
        accepts: [409],
        first: 1 - first,
        onSend: (at) => {
          if (verdict === 'approve') request.mayHoldFrom ??= at;
        },
      });
    },
  };
}
