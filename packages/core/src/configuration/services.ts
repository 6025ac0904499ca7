import { type ErrorIssue, pathText } from '@belay/contract/errors';
import { encryptionConfig, languageModelConfig, vaultConfig } from '@belay/providers';
import { issuesOfShape } from './issue.js';
import { findReferences, type ResolveReference, resolveReferences } from './references.js';
import type { CatalogDocument } from './schema.js';

const configs = { encryption: encryptionConfig, llm: languageModelConfig, vault: vaultConfig };

/** Checks the configuration of services as strictly as that of providers; calls none of them. */
export function checkServices(
  document: Pick<CatalogDocument, 'services'>,
  options: { resolve: ResolveReference },
  issues: ErrorIssue[],
): void {
  for (const [name, config] of Object.entries(configs)) {
    const definition = document.services?.[name as keyof typeof configs];
    if (definition === undefined) continue;
    const path = `services.${name}`;
    if (name === 'vault' && findReferences(definition, 'vault').length > 0) {
      issues.push({ path, message: 'must not come from the vault, because it opens the vault; use ${env:NAME}' });
      continue;
    }
    const unresolved: ErrorIssue[] = [];
    const resolved = resolveReferences(definition, path, options.resolve, unresolved);
    issues.push(...unresolved);
    const result = config.safeParse(resolved, { reportInput: true });
    if (result.success || unresolved.length > 0) continue;
    issues.push(
      ...result.error.issues.flatMap((issue) => issuesOfShape(issue, config, (inner) => pathText([path, ...inner]))),
    );
  }
}
