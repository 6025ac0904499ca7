export { createScim, type Scim, scimPath } from './answer.js';
