import { z } from 'zod';

const text = z.string().min(1);
const person = z
  .strictObject({
    email: z.email(),
    groups: z.array(text).default([]).describe('As the identity provider names them'),
    organizations: z.array(text).optional(),
    provider: text.optional().describe('The sign-in provider; default: the only one'),
  })
  .describe('A person, as their identity provider describes them');

const verdict = z.enum(['approved', 'denied', 'expired']);
const approvers = z.strictObject({ by: z.array(text).min(1).describe('The addresses of those who approve') });
const answer = z
  .union([
    verdict,
    approvers,
    z.strictObject({
      stages: z
        .array(z.union([verdict, approvers]))
        .min(1)
        .describe('For each stage of the approval; a stage that is not named is approved'),
    }),
    z.strictObject({ returns: z.json().describe('What the call of this task returns') }),
  ])
  .describe('How people answer an approval, or a system a call');

const approval = z.strictObject({
  task: text.optional(),
  users: z.array(text).optional(),
  groups: z.array(text).optional(),
  count: z.int().min(1).optional(),
  stage: z.int().min(1).optional().describe('From 1, where there are several'),
});

const policyCase = z.strictObject({
  name: text.describe('What the case checks, in words'),
  person: z.union([text, person]).describe('A person, or the name of one of `people`'),
  at: z.iso
    .datetime({ offset: true })
    .optional()
    .describe('When the request is made; needed where a workflow reads the time'),
  request: z.strictObject({
    role: text,
    reason: z.string().optional(),
    duration: text.optional(),
    providers: z.array(text).optional(),
    workflow: text.optional(),
    identities: z.array(text).optional(),
  }),
  answers: z
    .record(z.string(), answer)
    .default({})
    .describe('By the name of the task; an approval that is not named is approved'),
  expect: z.strictObject({
    result: z
      .enum(['granted', 'denied', 'rejected', 'failed', 'ended', 'unknown'])
      .describe(
        'granted: there is access. denied: not approved. rejected: the request is not accepted. failed: the workflow faults. ended: it ends without access. unknown: the case leaves open what happens',
      ),
    message: z.string().optional().describe('A part of the reason'),
    approvals: z.array(approval).optional().describe('Every approval that is requested, in order'),
    duration: text.optional().describe('For how long the access is granted'),
    providers: z.array(text).optional().describe('Where the access is granted'),
  }),
});

/** A file of policy cases (docs/guides/policy-tests.md). */
export const caseFile = z
  .strictObject({
    $schema: z.string().optional(),
    environment: z
      .record(z.string(), z.string())
      .default({})
      .describe(
        'Stand-ins for variables of the configuration that are not set, and for its secrets, as "vault:path#key"',
      ),
    people: z.record(z.string(), person).default({}),
    cases: z.array(policyCase).min(1),
  })
  .describe('Policy cases of Belay: who gets what, who approves, and for how long');

export type CaseFile = z.infer<typeof caseFile>;
export type PolicyCase = z.infer<typeof policyCase>;
export type CasePerson = z.infer<typeof person>;

/** Returns the JSON Schema of files of policy cases as text: the content of docs/policy-test.schema.json. */
export function writeCaseSchema(): string {
  return `${JSON.stringify(z.toJSONSchema(caseFile, { io: 'input', target: 'draft-7' }), undefined, 1)}\n`;
}
