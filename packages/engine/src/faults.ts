import type { Fault } from '@belay/workflow';

const standard = 'https://serverlessworkflow.io/spec/1.0.0/errors';

export function communicationFault(status: number, title: string, detail: string): Fault {
  return { type: `${standard}/communication`, status, title, detail };
}

export function timeoutFault(detail: string): Fault {
  return { type: `${standard}/timeout`, status: 408, title: 'Timed out', detail };
}

/** Returns the fault of a call of a function that is not registered. */
export function unknownFunction(name: string): Fault {
  return {
    type: `${standard}/validation`,
    status: 400,
    title: 'Invalid request',
    detail: `No function is named "${name}"`,
  };
}
