/** The errors of every verb are the contract's. */
export {
  AccessError,
  type ErrorCode,
  type ErrorIssue,
  errorCodes,
  invalid,
  notFound,
  renameIssues,
} from '@belay/contract/errors';
