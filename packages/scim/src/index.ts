export { createScim, scimPath } from './answer.js';
