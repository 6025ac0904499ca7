import { z } from 'zod';
import { instant, name } from './fields.js';
import { limits } from './limits.js';
import { mutation, query } from './operation.js';
import { next, paging } from './paging.js';
import { isStorable, unstorableMessage } from './text.js';

export const commentKind = z.enum(['comment', 'question', 'answer']);
/** `question`: an approver asks for information without deciding; `answer`: the requester's reply to one. */
export type CommentKind = z.infer<typeof commentKind>;

export const comment = z.object({
  id: z.string(),
  kind: commentKind,
  text: z.string(),
  author: z.object({ email: z.string(), name: z.string() }),
  created_at: instant,
});
/** What a person wrote about a request. Comments are never changed and never deleted. */
export type Comment = z.infer<typeof comment>;

export const commentList = z.object({
  comments: z.array(comment).describe('Oldest first'),
  next,
  open_question: z.boolean().describe('Whether the last question has no answer yet'),
  may: z
    .array(commentKind)
    .describe('What the caller can write now; empty for those who can only read, and after the request has ended'),
});
export type CommentList = z.infer<typeof commentList>;

const ofExecution = { id: name.describe('Identifier of the execution or of one of its approvals') };

export const newComment = z.strictObject({
  ...ofExecution,
  text: z.string().min(1).max(limits.remark).refine(isStorable, unstorableMessage),
  kind: commentKind
    .optional()
    .describe('Default: an answer when the requester writes while a question is open, otherwise a comment'),
});
export type NewComment = z.input<typeof newComment>;

export const commentOperations = {
  list: query({ input: z.strictObject({ ...ofExecution, ...paging }), output: commentList }),
  add: mutation({ input: newComment, output: comment }),
};
