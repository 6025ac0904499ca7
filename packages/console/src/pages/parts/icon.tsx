import arrowRight from 'lucide/dist/esm/icons/arrow-right.mjs';
import bell from 'lucide/dist/esm/icons/bell.mjs';
import bookOpen from 'lucide/dist/esm/icons/book-open.mjs';
import bot from 'lucide/dist/esm/icons/bot.mjs';
import boxes from 'lucide/dist/esm/icons/boxes.mjs';
import calendarClock from 'lucide/dist/esm/icons/calendar-clock.mjs';
import check from 'lucide/dist/esm/icons/check.mjs';
import chevronLeft from 'lucide/dist/esm/icons/chevron-left.mjs';
import chevronRight from 'lucide/dist/esm/icons/chevron-right.mjs';
import circleCheck from 'lucide/dist/esm/icons/circle-check.mjs';
import circleX from 'lucide/dist/esm/icons/circle-x.mjs';
import clock from 'lucide/dist/esm/icons/clock.mjs';
import cloud from 'lucide/dist/esm/icons/cloud.mjs';
import container from 'lucide/dist/esm/icons/container.mjs';
import database from 'lucide/dist/esm/icons/database.mjs';
import download from 'lucide/dist/esm/icons/download.mjs';
import folder from 'lucide/dist/esm/icons/folder.mjs';
import gitBranch from 'lucide/dist/esm/icons/git-branch.mjs';
import globe from 'lucide/dist/esm/icons/globe.mjs';
import house from 'lucide/dist/esm/icons/house.mjs';
import inbox from 'lucide/dist/esm/icons/inbox.mjs';
import info from 'lucide/dist/esm/icons/info.mjs';
import keyRound from 'lucide/dist/esm/icons/key-round.mjs';
import layers from 'lucide/dist/esm/icons/layers.mjs';
import listChecks from 'lucide/dist/esm/icons/list-checks.mjs';
import listFilter from 'lucide/dist/esm/icons/list-filter.mjs';
import lock from 'lucide/dist/esm/icons/lock.mjs';
import logOut from 'lucide/dist/esm/icons/log-out.mjs';
import mail from 'lucide/dist/esm/icons/mail.mjs';
import menu from 'lucide/dist/esm/icons/menu.mjs';
import messageSquare from 'lucide/dist/esm/icons/message-square.mjs';
import plus from 'lucide/dist/esm/icons/plus.mjs';
import refreshCw from 'lucide/dist/esm/icons/refresh-cw.mjs';
import scrollText from 'lucide/dist/esm/icons/scroll-text.mjs';
import search from 'lucide/dist/esm/icons/search.mjs';
import server from 'lucide/dist/esm/icons/server.mjs';
import settings from 'lucide/dist/esm/icons/settings.mjs';
import shieldCheck from 'lucide/dist/esm/icons/shield-check.mjs';
import siren from 'lucide/dist/esm/icons/siren.mjs';
import sparkles from 'lucide/dist/esm/icons/sparkles.mjs';
import star from 'lucide/dist/esm/icons/star.mjs';
import timer from 'lucide/dist/esm/icons/timer.mjs';
import triangleAlert from 'lucide/dist/esm/icons/triangle-alert.mjs';
import undo2 from 'lucide/dist/esm/icons/undo-2.mjs';
import user from 'lucide/dist/esm/icons/user.mjs';
import users from 'lucide/dist/esm/icons/users.mjs';
import workflow from 'lucide/dist/esm/icons/workflow.mjs';
import x from 'lucide/dist/esm/icons/x.mjs';
import { h, type VNode } from 'preact';

/** The icons that the pages use, by their names at lucide.dev. */
const shapes = {
  'arrow-right': arrowRight,
  bell,
  'book-open': bookOpen,
  bot,
  boxes,
  'calendar-clock': calendarClock,
  check,
  'chevron-left': chevronLeft,
  'chevron-right': chevronRight,
  'circle-check': circleCheck,
  'circle-x': circleX,
  clock,
  cloud,
  container,
  database,
  download,
  folder,
  'git-branch': gitBranch,
  globe,
  house,
  inbox,
  info,
  'key-round': keyRound,
  layers,
  'list-checks': listChecks,
  'list-filter': listFilter,
  lock,
  'log-out': logOut,
  mail,
  menu,
  'message-square': messageSquare,
  plus,
  'refresh-cw': refreshCw,
  'scroll-text': scrollText,
  search,
  server,
  settings,
  'shield-check': shieldCheck,
  siren,
  sparkles,
  star,
  timer,
  'triangle-alert': triangleAlert,
  'undo-2': undo2,
  user,
  users,
  workflow,
  x,
} as const;

export type IconName = keyof typeof shapes;

/** Renders an icon in the colour of the text around it. Screen readers skip it, because a text beside it has its meaning. */
export function Icon({ name, class: more }: { name: IconName; class?: string }): VNode {
  return (
    <svg class={more === undefined ? 'icon' : `icon ${more}`} viewBox="0 0 24 24" aria-hidden="true">
      {shapes[name].map(([tag, attributes], index) => h(tag, { ...attributes, key: index }))}
    </svg>
  );
}
