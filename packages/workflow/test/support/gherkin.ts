/** One step of a scenario: its words, and the text between the """ after it. */
export interface ScenarioStep {
  text: string;
  block?: string;
}

export interface Scenario {
  name: string;
  steps: ScenarioStep[];
}

/** Reads the part of Gherkin that the conformance kit uses: scenarios, steps, doc strings, comments. */
export function readFeature(text: string): Scenario[] {
  const scenarios: Scenario[] = [];
  let block: { indent: number; lines: string[] } | null = null;
  for (const line of text.split(/\r?\n/)) {
    const trimmed = line.trim();
    const scenario = scenarios.at(-1);
    if (trimmed.startsWith('"""')) {
      const step = scenario?.steps.at(-1);
      if (!step) throw new Error('a doc string before any step');
      if (block) step.block = block.lines.join('\n');
      block = block ? null : { indent: line.indexOf('"""'), lines: [] };
    } else if (block) {
      block.lines.push(line.slice(block.indent));
    } else if (trimmed.startsWith('Scenario:')) {
      scenarios.push({ name: trimmed.slice('Scenario:'.length).trim(), steps: [] });
    } else if (scenario && /^(Given|When|Then|And|But) /.test(trimmed)) {
      scenario.steps.push({ text: trimmed.replace(/^(Given|When|Then|And|But) /, '') });
    }
  }
  return scenarios;
}
