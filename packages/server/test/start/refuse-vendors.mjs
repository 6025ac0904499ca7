import { register } from 'node:module';

// Loaded before the program: every later import of a vendor's SDK fails with its name.
const hooks = `export function resolve(specifier, context, next) {
  if (/^@(aws-sdk|azure|google-cloud)\\//.test(specifier) && !(context.parentURL ?? '').includes('node_modules')) {
    throw new Error('loaded the vendor ' + specifier);
  }
  return next(specifier, context);
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
