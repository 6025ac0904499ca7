import { describeConfiguration } from '@belay/core';
import { connectors } from '../connectors.js';

let text: string | undefined;

/** Returns the JSON Schema of configuration files as text: the content of docs/belay.schema.json. */
export function writeConfigurationSchema(): string {
  text ??= `${JSON.stringify(describeConfiguration(connectors), undefined, 1)}\n`;
  return text;
}
