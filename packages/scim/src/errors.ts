/** The detail errors of RFC 7644, 3.12, that we use. */
type ScimType = 'invalidFilter' | 'invalidPath' | 'invalidSyntax' | 'invalidValue' | 'noTarget' | 'uniqueness';

/** An error of a SCIM request. Its message goes to the directory. */
export class ScimError extends Error {
  override readonly name = 'ScimError';
  constructor(
    readonly status: number,
    message: string,
    readonly scimType?: ScimType,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

/** Returns the error for a value that cannot be read. */
export function invalidValue(name: string, rule: string): ScimError {
  return new ScimError(400, `${name}: ${rule}`, 'invalidValue');
}

/** Returns the body of an error response (RFC 7644, 3.12). */
export function describeError({ status, message, scimType }: Pick<ScimError, 'status' | 'message' | 'scimType'>) {
  return {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
    status: String(status),
    ...(scimType === undefined ? {} : { scimType }),
    detail: message,
  };
}
