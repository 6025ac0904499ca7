import { printable } from '@belay/contract/printable';
import type { BelayClient, Review, ReviewFilter, ReviewVerdict } from '@belay/sdk';
import { Option } from 'commander';
import { CliError, usage } from '../cli-error.js';
import { addCommand, type Parent } from '../command.js';
import { findRequest } from '../find-request.js';
import { noteMore, type Paging, withCursor } from '../paging.js';

interface Listing extends Paging {
  status?: NonNullable<ReviewFilter['status']>;
  execution?: string;
}

interface Closing {
  verdict: ReviewVerdict;
  note: string;
}

/** How many reviews are listed. */
const shown = 100;

/** Declares `belay reviews`, which lists the reviews of emergency access, and `belay reviews close`. */
export function addReviews(parent: Parent): void {
  addCommand<Listing>(parent, {
    name: 'list',
    description: 'list the reviews of emergency access that name you, or all of them for administrators and auditors',
    examples: ['reviews', 'reviews --status overdue', 'reviews --execution 0197…'],
    isDefault: true,
    items: ({ reviews }) => reviews,
    values: { execution: 'executions' },
    options: (command) =>
      withCursor(
        command
          .addOption(
            new Option('--status <status>', 'which reviews; default: those that are open').choices([
              'open',
              'overdue',
              'closed',
              'all',
            ]),
          )
          .option('--execution <id>', 'only those of this request'),
      ),
    run: async ({ options: { status, execution, cursor }, output, connect, shell: { signal } }) => {
      const { client } = await connect();
      const execution_id = execution && (await findRequest(client, execution, signal));
      const filter = { ...(status && { status }), ...(execution_id && { execution_id }) };
      const list = await client.reviews.list(filter, { limit: shown, cursor, signal });
      const ids = output.ids(list.reviews.map(({ id }) => id));
      output.result(list, () =>
        output.table(
          ['Review', 'Used by', 'Role', 'Reason', 'Until', 'Review by', 'State', 'Note'],
          list.reviews.map((one, index) => [
            ids[index],
            one.requester.email,
            one.role,
            one.reason,
            output.time(one.active_until),
            output.time(one.due_at),
            one.verdict?.replace('_', ' ') ?? (one.overdue ? 'overdue' : 'open'),
            one.note,
          ]),
          'No reviews',
        ),
      );
      noteMore(output, list);
      return undefined;
    },
  });
  addCommand<Closing>(parent, {
    name: 'close <id>',
    description: 'close a review, by its id or the beginning of it, when the access has ended',
    examples: ["reviews close 0197… --verdict justified --note 'INC-4711: the database was down'"],
    options: (command) =>
      command
        .addOption(
          new Option('--verdict <verdict>', 'what you found')
            .choices(['justified', 'not_justified'])
            .makeOptionMandatory(),
        )
        .requiredOption('--note <text>', 'why, written to the audit log'),
    run: async ({ args: [given = ''], options: { verdict, note }, output, connect, shell: { signal } }) => {
      const { client } = await connect();
      const id = await findReview(client, given, signal);
      const closed = await client.reviews.close({ id, verdict, note }, { signal });
      output.result(closed, () =>
        printable(`The use of ${closed.role} by ${closed.requester.email}: ${verdict.replace('_', ' ')}`),
      );
      return undefined;
    },
  });
}

/**
 * Returns the id of the open review that begins with a text, or whose request's id does. Returns a whole id unchanged,
 * for the server to check. Throws `usage` when several match, and `not_found` when none matches.
 */
async function findReview(client: BelayClient, text: string, signal: AbortSignal): Promise<string> {
  if (text.length >= 36) return text;
  const found: Review[] = [];
  let cursor: string | undefined;
  // Continue with the next pages: the review, or a second one with the same beginning, may be on one of them.
  do {
    const page = await client.reviews.list({}, { cursor, signal });
    const alike = ({ id, execution_id }: Review) => [id, execution_id].some((one) => one.startsWith(text));
    found.push(...page.reviews.filter(alike));
    cursor = page.next ?? undefined;
  } while (cursor !== undefined && found.length < 2);
  if (found.length > 1) throw usage(`${text} is ambiguous: ${found.map(({ id }) => id).join(', ')}`);
  const [one] = found;
  if (text === '' || one === undefined)
    throw new CliError('not_found', `no open review begins with ${text}; see: belay reviews`);
  return one.id;
}
