import { access, accessPart } from './texts/access.js';
import { admin } from './texts/admin.js';
import { approvals, approvers, confirm } from './texts/approvals.js';
import { diagram } from './texts/diagram.js';
import { comments, execution, executionState, timeline } from './texts/execution.js';
import { executions } from './texts/executions.js';
import { cart, home } from './texts/home.js';
import { inbox } from './texts/inbox.js';
import { logs } from './texts/logs.js';
import { draft, error, page, search } from './texts/page.js';
import { dialogPart, filtersPart, formPart, listPart, readable, statusPart, timePart, words } from './texts/parts.js';
import { providers } from './texts/providers.js';
import { reference } from './texts/reference.js';
import { dynamic, suggest } from './texts/request.js';
import { reviews } from './texts/reviews.js';
import { role, roles } from './texts/roles.js';
import { settings } from './texts/settings.js';
import { device, program, signIn } from './texts/sign-in.js';
import { workflows } from './texts/workflows.js';

/**
 * The texts of all pages, in a file for each page or area, so that they can be reviewed as one list. Markup contains no literal text (lint
 * rejects it). A text with inserted values is a function of them.
 */
export const texts = {
  access,
  accessPart,
  admin,
  approvals,
  approvers,
  comments,
  inbox,
  cart,
  confirm,
  device,
  diagram,
  dialogPart,
  draft,
  dynamic,
  error,
  execution,
  executionState,
  executions,
  filtersPart,
  formPart,
  home,
  listPart,
  logs,
  page,
  program,
  providers,
  readable,
  reference,
  reviews,
  settings,
  role,
  roles,
  search,
  signIn,
  statusPart,
  suggest,
  timePart,
  timeline,
  words,
  workflows,
} as const;
