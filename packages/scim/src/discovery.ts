import { groupSchema } from './group.js';
import { userSchema } from './user.js';

interface Shape {
  type?: string;
  required?: boolean;
  multiValued?: boolean;
  caseExact?: boolean;
  mutability?: string;
  returned?: string;
  uniqueness?: string;
  subAttributes?: object[];
  referenceTypes?: string[];
}

function attribute(name: string, description: string, shape: Shape = {}): object {
  const { type = 'string', required = false, multiValued = false, caseExact = false, ...more } = shape;
  return {
    name,
    type,
    multiValued,
    description,
    required,
    ...(['boolean', 'complex', 'dateTime'].includes(type) ? {} : { caseExact }),
    mutability: 'readWrite',
    returned: 'default',
    ...(['boolean', 'complex'].includes(type) ? {} : { uniqueness: 'none' }),
    ...more,
  };
}

const userAttributes = [
  attribute('userName', 'The name by which the person signs in', { required: true, uniqueness: 'server' }),
  attribute('externalId', 'The directory’s own identifier of the person', { caseExact: true }),
  attribute('displayName', 'The name that is shown'),
  attribute('name', 'The parts of the name', {
    type: 'complex',
    subAttributes: [
      attribute('formatted', 'The whole name'),
      attribute('familyName', 'The family name'),
      attribute('givenName', 'The given name'),
    ],
  }),
  attribute('active', 'Whether the person may sign in; false ends their logins, requests and access', {
    type: 'boolean',
  }),
  attribute('emails', 'E-mail addresses', {
    type: 'complex',
    multiValued: true,
    subAttributes: [
      attribute('value', 'The address'),
      attribute('type', 'What it is for, such as work'),
      attribute('primary', 'Whether it is the preferred one', { type: 'boolean' }),
    ],
  }),
  attribute('groups', 'The groups that the person is in', {
    type: 'complex',
    multiValued: true,
    mutability: 'readOnly',
    subAttributes: [
      attribute('value', 'The id of the group', { mutability: 'readOnly' }),
      attribute('$ref', 'The address of the group', {
        type: 'reference',
        referenceTypes: ['Group'],
        caseExact: true,
        mutability: 'readOnly',
      }),
      attribute('display', 'The name of the group', { mutability: 'readOnly' }),
    ],
  }),
];

const groupAttributes = [
  attribute('displayName', 'The name of the group', { required: true, caseExact: true, uniqueness: 'server' }),
  attribute('externalId', 'The directory’s own identifier of the group', { caseExact: true }),
  attribute('members', 'The people in the group', {
    type: 'complex',
    multiValued: true,
    subAttributes: [
      attribute('value', 'The id of the person', { mutability: 'immutable' }),
      attribute('$ref', 'The address of the person', {
        type: 'reference',
        referenceTypes: ['User'],
        caseExact: true,
        mutability: 'immutable',
      }),
      attribute('display', 'The name of the person', { mutability: 'readOnly' }),
    ],
  }),
];

/** Returns the description of what this server supports (RFC 7643, 5 to 7), by the path at which it is found. */
export function describeService(base: string, page: number): ReadonlyMap<string, object[] | object> {
  const schema = (id: string, name: string, description: string, attributes: object[]) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Schema'],
    id,
    name,
    description,
    attributes,
    meta: { resourceType: 'Schema', location: `${base}/Schemas/${id}` },
  });
  const type = (name: string, endpoint: string, of: string, description: string) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
    id: name,
    name,
    endpoint,
    description,
    schema: of,
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` },
  });
  const schemas = [
    schema(userSchema, 'User', 'A person', userAttributes),
    schema(groupSchema, 'Group', 'A group of people', groupAttributes),
  ];
  const types = [type('User', '/Users', userSchema, 'A person'), type('Group', '/Groups', groupSchema, 'A group')];
  return new Map<string, object[] | object>([
    ['/ServiceProviderConfig', describeConfig(base, page)],
    ['/Schemas', schemas],
    ...schemas.map((one) => [`/Schemas/${one.id}`, one] as const),
    ['/ResourceTypes', types],
    ...types.map((one) => [`/ResourceTypes/${one.id}`, one] as const),
  ]);
}

function describeConfig(base: string, page: number): object {
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: page },
    changePassword: { supported: false },
    sort: { supported: false },
    etag: { supported: false },
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'Bearer token',
        description: 'A token that an operator created with belay scim create-token',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
  };
}
