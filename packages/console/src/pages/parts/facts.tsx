import { type ComponentChildren, Fragment, type VNode } from 'preact';

export type Fact = [name: string, value: ComponentChildren] | false | undefined;

/** Renders names and values; leaves out facts that are false or undefined. */
export function Facts({ facts }: { facts: readonly Fact[] }): VNode {
  return (
    <dl class="facts">
      {facts.map(
        (fact) =>
          fact !== false &&
          fact !== undefined && (
            <Fragment key={fact[0]}>
              <dt>{fact[0]}</dt>
              <dd>{fact[1]}</dd>
            </Fragment>
          ),
      )}
    </dl>
  );
}
