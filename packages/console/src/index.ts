export { type Asset, assets } from './assets.js';
export { errorPage } from './pages/error.js';
export { renderPage } from './pages/page.js';
export { referencePage } from './pages/reference.js';
export type { Ask } from './pages/table.js';
export {
  isShownAgain,
  renderCart,
  renderConfirmation,
  renderHome,
  renderOutput,
  renderRefused,
  renderSearch,
  renderUnsent,
} from './pages/table.js';
export type { Frame, View } from './pages/view.js';
export { documentedPath } from './paths.js';
