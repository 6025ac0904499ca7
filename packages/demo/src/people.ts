/** The people of the demo. Their subjects do not change, so that they remain the same users after each start. */
export interface DemoPerson {
  subject: string;
  name: string;
  email: string;
  groups: string[];
  /** The person's login role at the target database: the local part of the e-mail address, as in the provider's `identity` setting. */
  databaseRole: string;
}

export const demoPeople: readonly DemoPerson[] = [
  {
    subject: 'demo-rita',
    name: 'Rita Requester',
    email: 'rita@example.com',
    groups: ['engineers'],
    databaseRole: 'rita',
  },
  {
    subject: 'demo-adam',
    name: 'Adam Approver',
    email: 'adam@example.com',
    groups: ['approvers'],
    databaseRole: 'adam',
  },
  { subject: 'demo-bea', name: 'Bea Bystander', email: 'bea@example.com', groups: [], databaseRole: 'bea' },
];
