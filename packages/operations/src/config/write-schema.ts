import { describeConfiguration } from '@belay/core';
import { connectors } from '../connectors.js';

let text: string | undefined;

/** Returns the JSON Schema of configuration files as text, as docs/belay.schema.json has it. */
export function writeConfigurationSchema(): string {
  text ??= `${JSON.stringify(describeConfiguration(connectors), undefined, 1)}\n`;
  return text;
}
