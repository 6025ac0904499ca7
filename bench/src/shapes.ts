/**
 * The workflows that are measured, by the tasks that they have; each elevation is then given back and verified gone. `approve` is the
 * workflow of examples/connectors, and `hold` that of examples/quickstart, which also waits for the end of the access.
 */
export const shapes = ['grant', 'validate', 'approve', 'hold'] as const;

export type Shape = (typeof shapes)[number];

/** The shapes that are measured when none is named. */
export const usualShapes: readonly Shape[] = ['grant', 'validate', 'approve'];

/** The tasks of each shape, as tables name them. */
export const tasksOf: Readonly<Record<Shape, string>> = {
  grant: '`access.grant`',
  validate: '`access.validate`, `access.grant`',
  approve: '`access.validate`, `access.approve`, `access.grant`',
  hold: '`access.validate`, `access.approve`, `access.grant`, `access.hold`',
};

/** Returns whether an approver decides on requests of this shape. */
export const isApproved = (shape: Shape) => shape === 'approve' || shape === 'hold';

export function isShape(name: string): name is Shape {
  return shapes.some((shape) => shape === name);
}
