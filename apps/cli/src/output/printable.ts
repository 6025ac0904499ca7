export { printable } from '@belay/sdk';
